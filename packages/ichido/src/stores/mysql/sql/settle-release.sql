-- A person says that nothing happened: the next attempt may run, and the former owner is too late. Steps without a result
-- did not happen either; a policy (:unlessHeld) leaves them to what each of them says itself.
-- Parameters: :id of the proposal; :owner, a value that no attempt has; :key, :scopeHash, :fence; :unlessHeld as 0 or
--   1.
-- Result: insertId, the new fence, when it took effect.
-- Guarantee: S11, S15, S16. Record and audit row change in one atomic statement.
-- Neither begins nor, on MariaDB, waits after {untilUs}: a decision that was told to have failed is never made later.
/*M! set statement max_statement_time = {secondsLeft} for */ update {records} r join {audit} a on a.id = :id
set
  a.at_us = {now},
  r.fence = last_insert_id(greatest(r.fence + 1, {now})), r.owner = :owner, r.state = 'failed', r.lease_us = 0,
  r.hold_reason = null, r.released_fence = if(:unlessHeld, r.released_fence, greatest(r.released_fence, :fence + 1)),
  r.response_kind = null, r.response_status = null, r.response_bytes = 0, r.response_headers = null,
  r.response_body = null, r.updated_us = {now}, r.sweep_us = case
    when r.step_starts = 0 then r.expires_us
    when :unlessHeld and exists ({unfinished}) then null
    else r.expires_us + {spentRetentions} * (r.expires_us - r.created_us)
  end
where {now} < {untilUs} and r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence
  and r.state <> 'completed' and (:unlessHeld = 0 or r.hold_reason is null) and not (r.state = 'processing' and {live})
