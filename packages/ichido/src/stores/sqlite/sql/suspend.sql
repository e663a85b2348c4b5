-- Ends a lease without an answer. An interim answer or a hold that is not given stays as it was.
-- Parameters: interim kind, status, headers, body, hold reason, updated, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S5, S11.
UPDATE {prefix}records
SET
  lease_us = 0,
  interim_kind = coalesce(?, interim_kind), interim_status = coalesce(?, interim_status),
  interim_headers = coalesce(?, interim_headers), interim_body = coalesce(?, interim_body),
  hold_reason = coalesce(?, hold_reason), updated_us = ?
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
