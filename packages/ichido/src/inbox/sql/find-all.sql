-- What became of an event for a handler.
-- Parameters: :handler, :id, :limit.
-- Rows: dead (1 for a dead letter, or its mark), parked (1 for a message that waits for its next attempt), at_ms (since when,
-- where it waits), attempts (of what waits), state and reason (of a letter; empty: there is none).
-- Guarantee: committed state only, of one moment: what goes from waiting to processed is told as one of them. Contents of one
-- id beyond the limit are left out.
select i.dead as dead, 0 as parked, i.processed_ms as at_ms, 0 as attempts,
  coalesce(d.state, '') as state, coalesce(d.reason, '') as reason
from {prefix}inbox i
left join {prefix}inbox_dead d on d.handler = i.handler and d.id = i.id and d.print = i.print
where i.handler = :handler and i.id = :id
union all
select l.* from (
  select 1 as dead, 0 as parked, d.since_ms, d.attempts, d.state, d.reason
  from {prefix}inbox_dead d where d.handler = :handler and d.id = :id and not exists (
    select 1 from {prefix}inbox i where i.handler = :handler and i.id = :id and i.print = d.print
  ) limit :limit
) l
union all
select s.* from (
  select 0 as dead, 1 as parked, p.since_ms, p.attempts, '' as state, '' as reason
  from {prefix}inbox_parked p where p.handler = :handler and p.id = :id limit :limit
) s
order by parked, dead
