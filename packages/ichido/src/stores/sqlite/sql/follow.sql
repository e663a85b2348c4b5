-- The attempts of all records, in the order of writing.
-- Parameters: place to start after, limit.
-- Rows: up to `limit`.
-- Guarantee: S21.
SELECT * FROM {prefix}attempts WHERE place > ? ORDER BY place LIMIT ?
