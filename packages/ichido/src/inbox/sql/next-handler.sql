-- The handler after another one, in whatever table.
-- Parameters: :after (empty: the first).
-- Rows: one; null behind the last.
-- Guarantee: reads one entry of an index of each table, which no server does by itself for all handlers at once: handlers
-- are few, events many.
select min(h.handler) as handler from (
  select min(handler) as handler from {prefix}inbox where handler > :after
  union all
  select min(handler) from {prefix}inbox_parked where handler > :after
  union all
  select min(handler) from {prefix}inbox_dead where handler > :after
) h
