-- Says that nothing happened: the next attempt may run. Ends an interim answer and a hold.
-- Parameters: the claim.
-- Result: one affected row for the owner, none for anyone else (the state always changes).
-- Guarantee: S5.
update {records} set
  state = 'failed', lease_us = 0, hold_reason = null,
  response_kind = null, response_status = null, response_bytes = 0, response_headers = null, response_body = null,
  updated_us = {now}, sweep_us = if(step_starts = 0, expires_us, null)
where {own}
