-- Says that nothing happened: the next attempt may run. A record on hold waits for a person all the same.
-- Parameters: updated, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S4, S5.
UPDATE {prefix}records
SET
  state = CASE WHEN hold_reason IS NULL THEN 'failed' ELSE state END, lease_us = 0, updated_us = ?,
  interim_kind = CASE WHEN hold_reason IS NULL THEN NULL ELSE interim_kind END,
  interim_status = CASE WHEN hold_reason IS NULL THEN NULL ELSE interim_status END,
  interim_headers = CASE WHEN hold_reason IS NULL THEN NULL ELSE interim_headers END,
  interim_body = CASE WHEN hold_reason IS NULL THEN NULL ELSE interim_body END
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
