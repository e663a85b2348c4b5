-- Leaves a tombstone of a record, with the audit row that was proposed: nobody's owner and a greater fence, so that whoever
-- held the record can no longer write to it.
-- Parameters: :id of the proposal; :owner, a value that no attempt has; :headers and :status of the tombstone; :key,
--   :scopeHash, :fence.
-- Result: insertId, the new fence, when it took effect.
-- Guarantee: S24. What else there is of the record is erased after this, and again by every later request to forget it.
--   Its labels stay until all of that is done (`forgotten`): whoever comes after a process that died finds them there.
-- Neither begins nor, on MariaDB, waits after {untilUs}: a decision that was told to have failed is never made later.
/*M! set statement max_statement_time = {secondsLeft} for */ update {records} r join {audit} a on a.id = :id
set
  a.at_us = {now},
  r.fence = last_insert_id(greatest(r.fence + 1, {now})), r.owner = :owner, r.state = 'completed', r.lease_us = 0,
  r.hold_reason = null, r.principal = null, r.step_starts = 0,
  r.response_status = coalesce(r.response_status, :status), r.response_kind = 'tombstone', r.response_bytes = 0,
  r.response_headers = :headers, r.response_body = '', r.updated_us = {now}, r.sweep_us = r.expires_us
where {now} < {untilUs} and r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence and r.state <> 'processing'
