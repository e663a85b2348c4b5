-- Renews the lease of a record that this owner turned out to hold already: the reply to its first claim was lost. Its
-- origin stays.
-- Parameters: the claim; :leaseUs.
-- Result: insertId, the fence, or 0 when it is no longer held, or was left in doubt.
-- Guarantee: S2.
update {records} set
  fence = last_insert_id(fence),
  lease_us = {now} + :leaseUs, updated_us = {now}
where {own} and ({live} or not {doubtful})
