-- Says that nothing happened: the next attempt may run.
-- Parameters: updated, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S5.
UPDATE ichido_records
SET
  state = 'failed', updated_us = ?,
  hold_reason = NULL, interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
