-- How far the sweeper has looked for attempts whose record is gone.
-- Parameters: none.
-- Rows: one.
-- Guarantee: S21.
SELECT place FROM {prefix}log_sweep WHERE id = 1
