-- Gives a failed, lapsed or suspended record to its next owner, never one on hold. An interim answer stays until the outcome
-- is settled, so that a new owner who vanishes too leaves the record as much in doubt as it was.
-- Parameters: :key, :scopeHash; the :fence and :state that were seen; :open and :doubtStays as 0 or 1; :owner, :origin,
--   :leaseUs.
-- Result: insertId, the new fence; 0 when another claim was faster or the former owner is back.
-- Guarantee: S4, S6, S11. Every claim that takes the record raises the fence, so of the claims that saw the same record
--   one succeeds.
update {records} set
  fence = last_insert_id(greatest(fence + 1, {now})),
  state = 'processing', owner = :owner, origin = :origin, attempts = attempts + 1, lease_us = {now} + :leaseUs,
  updated_us = {now}, doubt_stays = greatest(doubt_stays, :doubtStays),
  sweep_us = if(doubt_stays or :doubtStays or step_starts > 0, null, sweep_us)
where `key` = :key and scope_hash = :scopeHash and fence = :fence and state = :state
  and (state = 'failed' or (not {live} and hold_reason is null and (:open or not {doubtful})))
