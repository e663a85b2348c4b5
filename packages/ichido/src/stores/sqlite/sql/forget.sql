-- Leaves a tombstone of a record: what it was asked for, as a hash, and that it is done.
-- Parameters: kind, status, headers, body, owner, fence, updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: S24, under the write lock, after `look` in the same transaction allowed it, with its audit row.
UPDATE {prefix}records
SET
  state = 'completed', response_kind = ?, response_status = ?, response_headers = ?, response_body = ?,
  owner = ?, fence = ?, updated_us = ?, lease_us = 0, principal = NULL, labels = NULL, steps_started = 0,
  hold_reason = NULL, interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL
WHERE key = ? AND scope_hash = ?
