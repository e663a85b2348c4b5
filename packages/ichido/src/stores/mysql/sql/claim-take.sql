-- Gives a failed, lapsed or suspended record to its next owner. An interim answer and a hold stay until the outcome is
-- settled, so that a new owner who vanishes too leaves the record as much in doubt as it was.
-- Parameters: :key, :scopeHash; the :fence and :state that were seen; :any as 0 or 1; :owner, :leaseUs.
-- Result: insertId, the new fence; 0 when somebody was faster or the former owner is back.
-- Guarantee: S4, S6. Every taker moves the fence, so of those who saw the same record one succeeds.
update {records} set
  fence = last_insert_id(greatest(fence + 1, {now})),
  state = 'processing', owner = :owner, attempts = attempts + 1, lease_us = {now} + :leaseUs, updated_us = {now}
where `key` = :key and scope_hash = :scopeHash and fence = :fence and state = :state
  and (state = 'failed' or (not {live} and (:any or not {doubtful})))
