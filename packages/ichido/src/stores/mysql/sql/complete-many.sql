-- Stores many answers, as complete does.
-- Parameters: {rows} is one `select` per answer, joined by `union all`: the claim, kind, status, bytes, headers, body.
-- Result: affected rows; as many as asked means that all were stored. When there are fewer, `complete` finds out which.
-- Guarantee: S5, S7. Rows are found by primary key, one for each answer, so no other row is locked.
update ({rows}) v straight_join {records} r on r.`key` = v.of_key and r.scope_hash = v.of_scope set
  r.state = 'completed', r.lease_us = 0, r.hold_reason = null,
  r.response_kind = v.kind, r.response_status = v.status, r.response_bytes = v.bytes, r.response_headers = v.headers,
  r.response_body = v.body, r.updated_us = {now}, r.sweep_us = r.expires_us
where r.owner = v.of_owner and r.fence = v.of_fence and r.state = 'processing'
