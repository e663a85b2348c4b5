-- Removes processes that have not been heard of for long.
-- Parameters: heard of last before, limit.
-- Rows: none; one change per process.
-- Guarantee: S21.
DELETE FROM {prefix}processes WHERE owners IN (SELECT owners FROM {prefix}processes WHERE seen_us < ? LIMIT ?)
