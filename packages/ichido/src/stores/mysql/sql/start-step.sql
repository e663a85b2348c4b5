-- Records that an external call is about to be made, and renews the lease: record and step in one atomic statement.
-- Parameters: :name, :leaseUs; the claim.
-- Result: insertId, the fence, for the owner, 0 for anyone else.
-- Guarantee: S5, S11, S15. The first start, its attempt and its place stay; the last start is this, until there is a result.
--   A lease that was ended (0) stays ended.
update {records} r join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life
set
  r.fence = last_insert_id(r.fence),
  s.place = coalesce(s.place, r.step_starts), s.attempt = coalesce(s.attempt, r.attempts),
  s.started_us = coalesce(s.started_us, {now}),
  s.last_started_us = if(s.finished_us is null, {now}, s.last_started_us), s.start_fence = :fence,
  r.lease_us = if(r.lease_us > 0, {now} + :leaseUs, 0),
  r.step_starts = r.step_starts + 1, r.updated_us = {now}, r.sweep_us = null
where r.`key` = :key and r.scope_hash = :scopeHash and r.owner = :owner and r.fence = :fence
  and r.state = 'processing' and s.name = :name
