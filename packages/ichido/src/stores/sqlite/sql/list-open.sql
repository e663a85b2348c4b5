-- One slice of a listing of unfinished records.
-- Parameters: state; then as in `list`, without its state.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: one consistent state per slice; finds the few open records among any number of completed ones.
SELECT {listed}
FROM {prefix}records AS r
WHERE
  state <> 'completed' AND state = ?
  AND (key, scope_hash) > (?, ?) AND (key, scope_hash) <= (?, ?)
  AND (? IS NULL OR tenant = ?) AND (? IS NULL OR principal = ?) AND (? IS NULL OR operation = ?)
  AND (? IS NULL OR ? = (interim_status IS NOT NULL OR hold_reason IS NOT NULL OR lease_us <= ? OR lease_us > ?))
ORDER BY key, scope_hash
LIMIT ?
