-- One slice of a listing by label.
-- Parameters: name, value; then as in `list`.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: one consistent state per slice; finds labelled records without reading any other.
SELECT
  r.key, r.scope_hash, r.tenant, r.principal, r.operation, r.fingerprint_version, r.fingerprint_raw,
  r.fingerprint_canonical, r.fingerprint_former, r.state, r.owner, r.origin, r.fence, r.attempts, r.lease_us, r.hold_reason, r.labels,
  r.created_us, r.updated_us, r.expires_us,
  r.interim_kind, r.interim_status, r.interim_headers, r.response_kind, r.response_status, r.response_headers,
  CASE WHEN r.steps_started = 0 THEN 0 ELSE (
    SELECT count(*) FROM ichido_steps AS s WHERE s.key = r.key AND s.scope_hash = r.scope_hash
  ) END AS steps_count
FROM ichido_labels AS l
CROSS JOIN ichido_records AS r ON r.key = l.key AND r.scope_hash = l.scope_hash
WHERE
  l.name = ? AND l.value = ?
  AND (l.key, l.scope_hash) > (?, ?) AND (l.key, l.scope_hash) <= (?, ?)
  AND (? IS NULL OR r.tenant = ?) AND (? IS NULL OR r.principal = ?) AND (? IS NULL OR r.operation = ?)
  AND (? IS NULL OR r.state = ?)
  AND (? = 0 OR r.interim_status IS NOT NULL OR r.hold_reason IS NOT NULL OR r.lease_us <= ? OR r.lease_us > ?)
ORDER BY l.key, l.scope_hash
LIMIT ?
