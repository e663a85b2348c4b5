-- Stores the answer. Also run on the user's own transaction, hence plain placeholders and no returned rows.
-- Parameters: kind, status, headers, body, updated, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else or when it was completed before.
-- Guarantee: S5, S7. `completed` is left only by expiry.
UPDATE {prefix}records
SET
  state = 'completed', response_kind = ?, response_status = ?, response_headers = ?, response_body = ?, updated_us = ?,
  hold_reason = NULL, interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
