-- Ends a lease without an answer. An interim answer or a hold that is not given stays as it was.
-- Parameters: :interim and :doubt as 0 or 1; :kind, :status, :bytes, :headers, :body; :holdReason; the claim.
-- Result: insertId, the fence, for the owner, 0 for anyone else.
-- Guarantee: S5, S11.
update {records} set
  fence = last_insert_id(fence),
  lease_us = 0,
  response_kind = if(:interim, :kind, response_kind), response_status = if(:interim, :status, response_status),
  response_bytes = if(:interim, :bytes, response_bytes), response_headers = if(:interim, :headers, response_headers),
  response_body = if(:interim, :body, response_body),
  hold_reason = coalesce(:holdReason, hold_reason),
  updated_us = {now}, sweep_us = if(:doubt, null, sweep_us)
where {own}
