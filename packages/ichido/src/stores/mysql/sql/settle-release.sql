-- A person says that nothing happened: the next attempt may run, and the former owner is too late.
-- Parameters: :id of the proposal; :owner, a value nobody has; :key, :scopeHash, :fence.
-- Result: insertId, the new fence, when it took effect.
-- Guarantee: S16. Record and audit row change in one atomic statement.
update {records} r join {audit} a on a.id = :id
set
  a.at_us = {now},
  r.fence = last_insert_id(greatest(r.fence + 1, {now})), r.owner = :owner, r.state = 'failed', r.lease_us = 0,
  r.hold_reason = null,
  r.response_kind = null, r.response_status = null, r.response_bytes = 0, r.response_headers = null,
  r.response_body = null, r.updated_us = {now}, r.sweep_us = if(r.step_starts = 0, r.expires_us, null)
where r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence
  and r.state <> 'completed' and not (r.state = 'processing' and {live})
