-- One slice of a listing by resource.
-- Parameters: kind, id; then as in `list`, with the name of a label twice and its value before the limit.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: S20, S25: finds such records without reading any other.
SELECT {listed}
FROM {prefix}resources AS m
CROSS JOIN {prefix}records AS r ON r.key = m.key AND r.scope_hash = m.scope_hash
WHERE
  m.kind = ? AND m.id = ?
  AND (m.key, m.scope_hash) > (?, ?) AND (m.key, m.scope_hash) <= (?, ?)
  AND (? IS NULL OR r.tenant = ?) AND (? IS NULL OR r.principal = ?) AND (? IS NULL OR r.operation = ?)
  AND (? IS NULL OR r.state = ?)
  AND (? IS NULL OR ? = (r.interim_status IS NOT NULL OR r.hold_reason IS NOT NULL OR r.lease_us <= ? OR r.lease_us > ?))
  AND (? IS NULL OR EXISTS (
    SELECT 1 FROM {prefix}labels AS l
    WHERE l.name = ? AND l.value = ? AND l.key = m.key AND l.scope_hash = m.scope_hash
  ))
ORDER BY m.key, m.scope_hash
LIMIT ?
