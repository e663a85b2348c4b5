-- Whether an identity has a record, on the caller's transaction, with the clock and the greatest fence that was deleted.
-- Parameters: key, scope hash.
-- Rows: one.
-- Guarantee: one consistent state, which stays the newest one while the transaction holds the write lock.
SELECT
  EXISTS (SELECT 1 FROM ichido_records WHERE key = ? AND scope_hash = ?) AS taken,
  (SELECT floor FROM ichido_fence WHERE id = 1) AS floor,
  CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
