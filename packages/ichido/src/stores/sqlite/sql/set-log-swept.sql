-- Notes how far the sweeper has looked.
-- Parameters: place.
-- Rows: none; one change.
-- Guarantee: S21.
UPDATE {prefix}log_sweep SET place = ? WHERE id = 1
