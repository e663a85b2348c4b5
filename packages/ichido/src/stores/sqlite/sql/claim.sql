-- Claims an identity that has no record. Insert first: among concurrent claims one inserts, all others see its row.
-- Parameters: key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical, former,
--   owner, now, lease end, labels, created, updated, expires, whether a doubt stays.
-- Rows: its fence when the record is new, none when there was one.
-- Guarantee: S1, by the primary key. S6, by the clock and by the greatest fence that was deleted.
INSERT INTO {prefix}records (
  key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, state, owner, fence, attempts, lease_us, labels, created_us, updated_us, expires_us,
  origin, doubt_stays
)
VALUES (
  ?, ?, ?, ?, ?, ?, ?, ?,
  ?, 'processing', ?, max(?, (SELECT floor + 1 FROM {prefix}fence WHERE id = 1)), 1, ?, ?, ?, ?, ?,
  'new', ?
)
ON CONFLICT (key, scope_hash) DO NOTHING
RETURNING fence
