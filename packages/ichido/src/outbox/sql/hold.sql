-- Renews the session's lease and notes what it has claimed, last in every turn of a relay. No row: the session was
-- taken over, and the turn must be rolled back.
-- Parameters: session, lease_ms, claimed (comma-separated), alone (1: suspects only, of which one may have ended
-- a process).
update {prefix}outbox_relays
set until_ms = {now} + :lease_ms, claimed = :claimed, alone = :alone
where session = :session
