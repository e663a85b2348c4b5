-- The next events of this relay's lanes, in the order in which they were added. Reads only: a lane belongs to one
-- relay, and the turn that reads is fenced by its session. A parked key stays out, all other keys go on. Reading begins
-- at a floor, past what was removed long ago; a key with something at or below the floor waits for a reading from zero.
-- Parameters: floor, lanes, claimed (in this relay's hands, or just sent), topics (of routes that pause), full_keys (hashes of keys
-- of which enough is in its hands), passed_keys (hashes of keys of which it is known that nothing waits at or below the
-- floor), batch.
-- Rows: up to that many events; `noted` is 1 for one that failed before.
-- Guarantee: events of a key in their order, none past an earlier one that waits.
select o.seq, o.id, o.topic, o.lane, o.message_key, o.key_hash, o.envelope, o.payload, o.attempts, o.crashes,
  case when o.last_error is null then 0 else 1 end as noted
from {prefix}outbox o
where o.seq > :floor
  and o.lane in (:lanes)
  and o.seq not in (:claimed)
  and o.topic not in (:topics)
  and (o.key_hash is null or o.key_hash not in (:full_keys))
  and (o.due_ms is null or o.due_ms <= {now})
  and not exists (
    select 1 from {prefix}outbox_parked p
    where p.key_hash = o.key_hash and (p.until_ms is null or p.until_ms > {now})
  )
  and (o.key_hash is null or o.key_hash in (:passed_keys) or coalesce(({earlier-of-key}), :floor + 1) > :floor)
order by o.seq
limit :batch
