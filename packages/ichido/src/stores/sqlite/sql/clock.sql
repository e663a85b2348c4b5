-- The tick row.
-- Parameters: none.
-- Rows: one or none.
-- Guarantee: one consistent state.
SELECT last_us, interval_us, steady_since_us FROM {prefix}clock WHERE id = 1
