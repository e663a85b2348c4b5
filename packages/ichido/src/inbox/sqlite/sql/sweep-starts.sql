-- Forgets starts that nobody asked about for the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded.
DELETE FROM {prefix}inbox_starts WHERE (handler, id) IN (
  SELECT handler, id FROM {prefix}inbox_starts WHERE at_ms < {now} - :age_ms ORDER BY at_ms LIMIT :limit
)
