-- Writes a record together with its answer, on the transaction that asked `claim-free` for it and holds the write lock.
-- Parameters: key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical, former, owner, fence,
--   labels, created, updated (null: now), expires, kind, status, headers, body.
-- Rows: none; one change, or none when there is a record.
-- Guarantee: S1, by the primary key.
INSERT INTO ichido_records (
  key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, state, owner, fence, attempts, lease_us, labels, created_us, updated_us, expires_us,
  response_kind, response_status, response_headers, response_body
)
VALUES (
  ?, ?, ?, ?, ?, ?, ?, ?,
  ?, 'completed', ?, ?, 1, 0, ?, ?, coalesce(?, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000), ?,
  ?, ?, ?, ?
)
ON CONFLICT (key, scope_hash) DO NOTHING
