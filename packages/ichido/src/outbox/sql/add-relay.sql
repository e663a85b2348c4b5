-- Begins the session of a relay: it has a lease and holds nothing yet.
-- Parameters: session, name, lease_ms.
-- Result: one row.
-- Guarantee: fails where the session is there already.
insert into {prefix}outbox_relays (session, name, until_ms, started_ms, claimed, alone)
values (:session, :name, {now} + :lease_ms, {now}, '', 0)
