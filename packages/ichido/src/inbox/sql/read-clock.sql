-- When the last sweep was, and since when the clock has not jumped.
-- Parameters: none.
-- Rows: one.
-- Guarantee: none.
select {now} as now_ms, last_ms, steady_ms from {prefix}inbox_clock where id = 1
