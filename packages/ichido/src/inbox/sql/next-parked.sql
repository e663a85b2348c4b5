-- How soon the next message that is first in its line is due.
-- Parameters: :handler.
-- Rows: one; null where nothing waits.
-- Guarantee: none.
select min(p.due_ms) - {now} as next_ms from {prefix}inbox_parked p
where p.handler = :handler and not exists (
  select 1 from {prefix}inbox_parked q where q.handler = p.handler and q.line = p.line and q.place < p.place
)
