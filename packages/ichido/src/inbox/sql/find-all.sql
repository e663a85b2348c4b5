-- What became of an event for every handler.
-- Parameters: :id.
-- Rows: handler, dead (1 for a dead letter), processed_ms.
-- Guarantee: committed state only. Steps from handler to handler by the primary key: handlers are few, events many.
with recursive handlers (name) as (
  select min(handler) from {prefix}inbox
  union all
  select (select min(i.handler) from {prefix}inbox i where i.handler > h.name) from handlers h where h.name is not null
)
select i.handler, i.dead, i.processed_ms
from handlers h join {prefix}inbox i on i.handler = h.name and i.id = :id
order by i.handler
