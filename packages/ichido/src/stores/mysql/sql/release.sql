-- Says that nothing happened: the next attempt may run. Ends an interim answer. A record on hold waits for a person all the
-- same: only the lease ends.
-- Parameters: the claim.
-- Result: insertId, the fence, for the owner, 0 for anyone else.
-- Guarantee: S4, S5.
update {records} set
  fence = last_insert_id(fence),
  state = if(hold_reason is null, 'failed', state), lease_us = 0,
  response_kind = if(hold_reason is null, null, response_kind),
  response_status = if(hold_reason is null, null, response_status),
  response_bytes = if(hold_reason is null, 0, response_bytes),
  response_headers = if(hold_reason is null, null, response_headers),
  response_body = if(hold_reason is null, null, response_body),
  updated_us = {now}, sweep_us = if(hold_reason is null and step_starts = 0, expires_us, null)
where {own}
