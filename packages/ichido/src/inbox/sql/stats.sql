-- Figures for a dashboard. Counts every row: ask every few minutes, not every second.
-- Parameters: none.
-- Rows: one; ages are null where there is nothing.
-- Guarantee: none.
select (select count(*) from {prefix}inbox where dead = 0) as processed_rows,
  (select count(*) from {prefix}inbox_dead where state = 'dead') as dead_rows,
  (select count(*) from {prefix}inbox_dead where state = 'replaying') as replaying_rows,
  (select {now} - min(since_ms) from {prefix}inbox_dead) as oldest_dead_ms,
  (select {now} - min(marked_ms) from {prefix}inbox_dead where state = 'replaying') as oldest_replaying_ms,
  (select count(*) from {prefix}inbox_parked) as parked_rows,
  (select {now} - min(since_ms) from {prefix}inbox_parked) as oldest_parked_ms,
  (select {now} - min(processed_ms) from {prefix}inbox) as oldest_row_ms
