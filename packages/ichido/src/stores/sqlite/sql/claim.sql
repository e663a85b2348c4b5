-- Claims an identity that has no record. Insert first: among concurrent claims one inserts, all others see its row.
-- Parameters: key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical, former,
--   owner, fence, lease end, labels, created, updated, expires, whether a doubt stays.
-- Rows: none; one change when the record is new, none when there was one. Rows that a statement returns SQLite collects in
--   a table of their own first, which would be the dearest part of it.
-- Guarantee: S1, by the primary key. S6, after `fence-floor` in the same transaction, under the write lock.
INSERT INTO {prefix}records (
  key, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, state, owner, fence, attempts, lease_us, labels, created_us, updated_us, expires_us,
  origin, doubt_stays
)
VALUES (
  ?, ?, ?, ?, ?, ?, ?, ?,
  ?, 'processing', ?, ?, 1, ?, ?, ?, ?, ?,
  'new', ?
)
ON CONFLICT (key, scope_hash) DO NOTHING
