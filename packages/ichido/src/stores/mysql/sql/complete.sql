-- Stores the answer. Also run on the user's own transaction, hence decided by affected rows: the state always changes, so
-- matched and changed rows are the same.
-- Parameters: :kind, :status, :bytes, :headers, :body; the claim.
-- Result: one affected row for the owner, none for anyone else or when it was completed before.
-- Guarantee: S5, S7. `completed` is left only by expiry.
update {records} set
  state = 'completed', lease_us = 0, hold_reason = null,
  response_kind = :kind, response_status = :status, response_bytes = :bytes, response_headers = :headers,
  response_body = :body, updated_us = {now}, sweep_us = expires_us
where {own}
