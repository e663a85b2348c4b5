-- Writes down one attempt.
-- Parameters: place, key, scope hash, operation, at, took, outcome, whether only observed, status, attempt, fence, number,
--   process, release, asked by, intent.
-- Rows: none; one change.
-- Guarantee: S21.
INSERT INTO {prefix}attempts (
  place, key, scope_hash, operation, at_us, took_us, outcome, observed, status, attempt, fence, number,
  process, release, asked_by, intent
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
