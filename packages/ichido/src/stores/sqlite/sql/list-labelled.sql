-- One slice of a listing by label.
-- Parameters: name, value; then as in `list`.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: one consistent state per slice; finds labelled records without reading any other.
SELECT {listed}
FROM {prefix}labels AS l
CROSS JOIN {prefix}records AS r ON r.key = l.key AND r.scope_hash = l.scope_hash
WHERE
  l.name = ? AND l.value = ?
  AND (l.key, l.scope_hash) > (?, ?) AND (l.key, l.scope_hash) <= (?, ?)
  AND (? IS NULL OR r.tenant = ?) AND (? IS NULL OR r.principal = ?) AND (? IS NULL OR r.operation = ?)
  AND (? IS NULL OR r.state = ?)
  AND (? IS NULL OR ? = (r.interim_status IS NOT NULL OR r.hold_reason IS NOT NULL OR r.lease_us <= ? OR r.lease_us > ?))
ORDER BY l.key, l.scope_hash
LIMIT ?
