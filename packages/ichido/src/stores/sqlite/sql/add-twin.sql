-- Notes a pair, unless it is noted or one of the two is forgotten.
-- Parameters: place, scope hash, operation, first key, second key, how far apart; first key, second key, scope hash, header
--   lines of a forgotten record.
-- Rows: none; one change, or none.
-- Guarantee: S22, S24.
INSERT INTO {prefix}twins (place, scope_hash, operation, first_key, second_key, apart_us)
SELECT ?, ?, ?, ?, ?, ?
WHERE NOT EXISTS (
  SELECT 1 FROM {prefix}records AS r
  WHERE r.key IN (?, ?) AND r.scope_hash = ? AND r.response_kind = 'tombstone' AND r.response_headers = ?
)
ON CONFLICT DO NOTHING
