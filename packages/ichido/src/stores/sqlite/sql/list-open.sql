-- One slice of a listing of unfinished records.
-- Parameters: state; then as in `list`, without its state.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: one consistent state per slice; finds the few open records among any number of completed ones.
SELECT
  key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, state, owner, origin, fence, attempts, lease_us, hold_reason, labels, created_us, updated_us, expires_us,
  interim_kind, interim_status, interim_headers, response_kind, response_status, response_headers,
  CASE WHEN steps_started = 0 THEN 0 ELSE (
    SELECT count(*) FROM ichido_steps AS s WHERE s.key = ichido_records.key AND s.scope_hash = ichido_records.scope_hash
  ) END AS steps_count
FROM ichido_records
WHERE
  state <> 'completed' AND state = ?
  AND (key, scope_hash) > (?, ?) AND (key, scope_hash) <= (?, ?)
  AND (? IS NULL OR tenant = ?) AND (? IS NULL OR principal = ?) AND (? IS NULL OR operation = ?)
  AND (? = 0 OR interim_status IS NOT NULL OR hold_reason IS NOT NULL OR lease_us <= ? OR lease_us > ?)
ORDER BY key, scope_hash
LIMIT ?
