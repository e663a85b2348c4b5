-- Extends all live leases of a process.
-- Parameters: arrays of key, scope hash, owner, fence, lease ms.
-- Rows: the `place` of each that holds, counting from 1. Guarantee S5. A lease that its owner ended (null) stays
-- ended: a heartbeat under way must not revive it.
update {prefix}records r
set lease_until = case when r.lease_until is not null then clock_timestamp() + a.lease_ms * interval '1 ms' end
from unnest($1::text[], $2::bytea[], $3::uuid[], $4::bigint[], $5::bigint[])
  with ordinality as a (key, scope_hash, owner, fence, lease_ms, place)
where r.key = a.key and r.scope_hash = a.scope_hash and r.owner = a.owner and r.fence = a.fence
  and r.state = 'processing'
returning a.place
