-- Records past their retention that no owner is at work on.
-- Parameters: now, now, now plus an absurd lease, limit.
-- Rows: up to `limit`, those longest past their retention first.
-- Guarantee: S11, S12. The condition of the partial index is repeated word for word, or it would not be used.
SELECT rowid AS row, key, scope_hash, fence, steps_started, labels
FROM {prefix}records
WHERE
  expires_us <= ?
  AND (
    state = 'completed'
    OR (steps_started = 0 AND interim_status IS NULL AND hold_reason IS NULL AND (state = 'failed' OR doubt_stays = 0))
  )
  AND (state <> 'processing' OR lease_us <= ? OR lease_us > ?)
ORDER BY expires_us
LIMIT ?
