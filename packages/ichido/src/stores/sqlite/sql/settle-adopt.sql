-- A person gives the answer. Owner and fence change, so that the former owner is too late.
-- Parameters: kind, status, headers, body, owner, fence, updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: runs under the write lock, after `look` in the same transaction allowed it, with its audit row.
UPDATE {prefix}records
SET
  state = 'completed', response_kind = ?, response_status = ?, response_headers = ?, response_body = ?,
  owner = ?, fence = ?, updated_us = ?,
  hold_reason = NULL, interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL
WHERE key = ? AND scope_hash = ?
