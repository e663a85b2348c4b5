-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded.
DELETE FROM {prefix}inbox WHERE (handler, id) IN (
  SELECT handler, id FROM {prefix}inbox WHERE processed_ms < {now} - :age_ms ORDER BY processed_ms LIMIT :limit
)
