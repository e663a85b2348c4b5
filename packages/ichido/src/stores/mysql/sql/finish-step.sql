-- Keeps the result of an external call and renews the lease.
-- Parameters: :name, :leaseUs, :result; the claim.
-- Result: insertId, the fence, for the owner of a started step, 0 for anyone else and any other.
-- Guarantee: S5, S15. The first result stays. A lease that was ended (0) stays ended.
update {records} r join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life
set
  r.fence = last_insert_id(r.fence),
  s.result = coalesce(s.result, :result), s.finished_us = coalesce(s.finished_us, {now}),
  r.lease_us = if(r.lease_us > 0, {now} + :leaseUs, 0), r.updated_us = {now}
where r.`key` = :key and r.scope_hash = :scopeHash and r.owner = :owner and r.fence = :fence
  and r.state = 'processing' and s.name = :name and {happened}
