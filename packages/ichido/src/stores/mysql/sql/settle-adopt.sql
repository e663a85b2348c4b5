-- A person gives the answer; the fence grows, so that the former owner is too late.
-- Parameters: :id of the proposal; :kind, :status, :bytes, :headers, :body; :owner, a value that no attempt has; :key,
--   :scopeHash, :fence; :unlessHeld as 0 or 1.
-- Result: insertId, the new fence, when it took effect.
-- Guarantee: S16. Record and audit row change in one atomic statement.
-- Neither begins nor, on MariaDB, waits after {untilUs}: a decision that was told to have failed is never made later.
/*M! set statement max_statement_time = {secondsLeft} for */ update {records} r join {audit} a on a.id = :id
set
  a.at_us = {now},
  r.fence = last_insert_id(greatest(r.fence + 1, {now})), r.owner = :owner, r.state = 'completed', r.lease_us = 0,
  r.hold_reason = null,
  r.response_kind = :kind, r.response_status = :status, r.response_bytes = :bytes, r.response_headers = :headers,
  r.response_body = :body, r.updated_us = {now}, r.sweep_us = r.expires_us
where {now} < {untilUs} and r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence
  and r.state <> 'completed' and (:unlessHeld = 0 or r.hold_reason is null) and not (r.state = 'processing' and {live})
