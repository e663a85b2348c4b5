-- Pages of the attempt log, in the order of writing.
-- Parameters: place to start after, limit.
-- Rows: up to `limit`.
-- Guarantee: S21.
SELECT place, notes FROM {prefix}log_pages WHERE place > ? ORDER BY place LIMIT ?
