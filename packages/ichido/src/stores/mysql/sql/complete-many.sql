-- Stores many answers, as complete does. A record's values are found by its owner, among those of all.
-- Parameters: owners of all in order, then their kinds; the same for statuses, bytes, headers and bodies; {rows} is one
--   `(key = … and scope_hash = … and owner = … and fence = …)` per answer, joined by `or`. No two have the same owner.
-- Result: affected rows; as many as asked means that all were stored. When there are fewer, `complete` finds out which.
-- Guarantee: S5, S7. Rows are found by primary key, so no other row is locked. A join with a table of the answers would be
--   written out to a temporary table first, and takes half as long again.
update {records} force index (primary) set
  state = 'completed', lease_us = 0, hold_reason = null,
  response_kind = {its}, response_status = {its}, response_bytes = {its}, response_headers = {its}, response_body = {its},
  updated_us = {now}, sweep_us = expires_us
where ({rows}) and state = 'processing'
