-- Writes down one attempt, unless its record is forgotten.
-- Parameters: place, key, scope hash, operation, at, took, outcome, whether only observed, status, attempt, fence, number,
--   count, when the last of them was, process, release, asked by; key, scope hash, header lines of a forgotten record.
-- Rows: none; one change, or none.
-- Guarantee: S21, S24.
INSERT INTO {prefix}attempts (
  place, key, scope_hash, operation, at_us, took_us, outcome, observed, status, attempt, fence, number, count, last_us,
  process, release, asked_by
)
SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
WHERE NOT EXISTS (
  SELECT 1 FROM {prefix}records AS r
  WHERE r.key = ? AND r.scope_hash = ? AND r.response_kind = 'tombstone' AND r.response_headers = ?
)
