-- A person says that nothing happened: the next attempt may run, and the former owner is too late.
-- Parameters: owner, fence, updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: runs under the write lock, after `look` in the same transaction allowed it and steps without a result went,
--   with its audit row.
UPDATE {prefix}records
SET
  state = 'failed', owner = ?, fence = ?, updated_us = ?,
  steps_started = (
    SELECT count(*) FROM {prefix}steps AS s WHERE s.key = {prefix}records.key AND s.scope_hash = {prefix}records.scope_hash
  ),
  hold_reason = NULL, interim_kind = NULL, interim_status = NULL, interim_headers = NULL, interim_body = NULL
WHERE key = ? AND scope_hash = ?
