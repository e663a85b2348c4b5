-- What a step must know of its record, and the clock.
-- Parameters: key, scope hash, owner, fence.
-- Rows: one for the owner, none for anyone else.
-- Guarantee: S5, under the write lock.
SELECT
  attempts, lease_us, steps_started, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
FROM {prefix}records
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
