-- What became of an event for every handler.
-- Parameters: :id.
-- Rows: handler, dead (1 for a dead letter), parked (1 for a message that waits for its next attempt), processed_ms
-- (since when, where it waits), attempts (of what waits).
-- Guarantee: committed state only, of one moment: what goes from waiting to processed is told as one of them. Steps from
-- handler to handler by an index: handlers are few, events many.
with recursive handlers (name) as (
  select min(handler) from {prefix}inbox
  union all
  select (select min(i.handler) from {prefix}inbox i where i.handler > h.name) from handlers h where h.name is not null
), waiting (name) as (
  select min(handler) from {prefix}inbox_parked
  union all
  select (select min(i.handler) from {prefix}inbox_parked i where i.handler > w.name)
  from waiting w where w.name is not null
)
select i.handler as handler, i.dead as dead, 0 as parked, i.processed_ms as processed_ms, 0 as attempts
from handlers h join {prefix}inbox i on i.handler = h.name and i.id = :id
union all
select p.handler, 0, 1, p.since_ms, p.attempts
from waiting w join {prefix}inbox_parked p on p.handler = w.name and p.id = :id
order by handler, parked
