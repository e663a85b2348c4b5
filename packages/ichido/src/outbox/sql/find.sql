-- Where an event is: it waits, was given up, or was sent.
-- Parameters: id, limit.
-- Rows: outcome ('pending', 'dead', 'sent'), seq, topic, at_ms (since when), attempts, reason (of a dead letter; empty: it is
-- none), behind (the number at the head of its key, where that is parked; 0: it is not).
-- Guarantee: committed state only, of one moment. An id that was added more often than the limit is cut off.
select * from (
  select 'pending' as outcome, o.seq as seq, o.topic as topic, o.added_ms as at_ms, o.attempts as attempts,
    '' as reason, coalesce(k.seq, 0) as behind
  from {prefix}outbox o left join {prefix}outbox_parked k on k.key_hash = o.key_hash
  where o.id = :id limit :limit
) x
union all
select * from (
  select 'dead' as outcome, seq, topic, dead_ms, attempts, reason, 0 as behind
  from {prefix}outbox_dead where id = :id limit :limit
) y
union all
select * from (
  select 'sent' as outcome, seq, topic, sent_ms, 0 as attempts, '' as reason, 0 as behind
  from {prefix}outbox_sent where id = :id limit :limit
) z
order by seq
