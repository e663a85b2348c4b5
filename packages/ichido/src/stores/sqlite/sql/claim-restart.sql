-- Runs an expired identity as new. The row is kept and overwritten, so that its fence goes on growing.
-- Parameters: tenant, principal, operation, fingerprint version, raw, canonical, former, owner, fence, lease end, labels,
--   created, updated, expires, whether a doubt stays, key, scope hash.
-- Rows: none; one change.
-- Guarantee: S6, S9. Runs under the write lock, after `look` in the same transaction found it expired.
UPDATE {prefix}records
SET
  tenant = ?, principal = ?, operation = ?,
  fingerprint_version = ?, fingerprint_raw = ?, fingerprint_canonical = ?, fingerprint_former = ?,
  state = 'processing', owner = ?, fence = ?, attempts = 1, lease_us = ?, labels = ?,
  created_us = ?, updated_us = ?, expires_us = ?, origin = 'new', doubt_stays = ?, steps_started = 0, hold_reason = NULL,
  interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL,
  response_kind = NULL, response_status = NULL, response_headers = NULL, response_body = NULL
WHERE key = ? AND scope_hash = ?
