-- Records that were released long ago, with the results of steps and no step without one.
-- Parameters: now, now, limit.
-- Rows: up to `limit`, those longest past their retention first.
-- Guarantee: S11, S12. The condition of the partial index is repeated word for word, or it would not be used.
SELECT rowid AS row, key, scope_hash, fence, steps_started, labels
FROM {prefix}records
WHERE
  expires_us <= ?
  AND state = 'failed' AND steps_started > 0
  AND expires_us + {spentRetentions} * (expires_us - created_us) <= ?
  AND NOT EXISTS (
    SELECT 1 FROM {prefix}steps AS s
    WHERE s.key = {prefix}records.key AND s.scope_hash = {prefix}records.scope_hash AND s.state = 'started'
  )
ORDER BY expires_us
LIMIT ?
