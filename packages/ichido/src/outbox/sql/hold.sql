-- Renews the session's lease and notes what it has claimed, last in every turn of a relay.
-- Parameters: session, lease_ms, claimed (comma-separated), alone (1: suspects only, of which one may have ended
-- a process).
-- Result: one row, or none where the session was taken over, and the turn must be rolled back.
-- Guarantee: a turn commits only while its session is there.
update {prefix}outbox_relays
set until_ms = {now} + :lease_ms, claimed = :claimed, alone = :alone
where session = :session
