-- Says that nothing happened: the next attempt may run. Ends an interim answer. A record on hold waits for a person all the
-- same: only the lease ends.
-- Parameters: the claim.
-- Result: insertId, the fence, for the owner, 0 for anyone else.
-- Guarantee: S4, S5, S11. With the results of steps, and no step without one, it goes long after its retention.
update {records} r set
  fence = last_insert_id(fence),
  state = if(hold_reason is null, 'failed', state), lease_us = 0,
  response_kind = if(hold_reason is null, null, response_kind),
  response_status = if(hold_reason is null, null, response_status),
  response_bytes = if(hold_reason is null, 0, response_bytes),
  response_headers = if(hold_reason is null, null, response_headers),
  response_body = if(hold_reason is null, null, response_body),
  updated_us = {now}, sweep_us = case
    when hold_reason is not null then null
    when step_starts = 0 then expires_us
    when exists ({unfinished}) then null
    else expires_us + {spentRetentions} * (expires_us - created_us)
  end
where {own}
