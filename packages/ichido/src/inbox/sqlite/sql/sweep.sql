-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a row with a dead letter, or with a parked message, stays as long as that: the row shows whether the
--   message took effect. Bounded.
DELETE FROM {prefix}inbox WHERE (handler, id) IN (
  SELECT i.handler, i.id FROM {prefix}inbox i WHERE i.processed_ms < {now} - :age_ms
    AND NOT EXISTS (SELECT 1 FROM {prefix}inbox_dead d WHERE d.handler = i.handler AND d.id = i.id)
    AND NOT EXISTS (SELECT 1 FROM {prefix}inbox_parked p WHERE p.handler = i.handler AND p.id = i.id)
  ORDER BY i.processed_ms LIMIT :limit
)
