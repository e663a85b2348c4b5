-- Parameters: session, name, lease_ms.
insert into {prefix}outbox_relays (session, name, until_ms, started_ms, claimed, alone)
values (:session, :name, {now} + :lease_ms, {now}, '', 0)
