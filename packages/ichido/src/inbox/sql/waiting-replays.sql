-- Handlers with letters that are to be replayed, and how long the first of them waits.
-- Parameters: none.
-- Rows: one for each handler.
-- Guarantee: none.
select handler, {now} - min(marked_ms) as waiting_ms from {prefix}inbox_dead where state = 'replaying' group by handler
