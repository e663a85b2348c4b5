-- All pairs, in the order in which they were noted.
-- Parameters: place to start after, limit.
-- Rows: up to `limit`.
-- Guarantee: S22.
SELECT * FROM {prefix}twins WHERE place > ? ORDER BY place LIMIT ?
