-- Extends all live leases of a process, and waits for no row: one locked row must not cost the others their lease.
-- Parameters: arrays of key, scope hash, owner, fence, lease ms.
-- Rows: `place`, counting from 1, and 1 for each that was renewed, 0 for each that is held but locked; stale ones are
-- missing.
-- Guarantee: S5. A lease that its owner ended (null) stays ended: a heartbeat under way must not revive it.
with asked as materialized (
  select * from unnest($1::text[], $2::bytea[], $3::uuid[], $4::bigint[], $5::bigint[])
    with ordinality as a (key, scope_hash, owner, fence, lease_ms, place)
),
held as materialized (
  select a.place, a.lease_ms, r.key, r.scope_hash
  from asked a
  join {prefix}records r on r.key = a.key and r.scope_hash = a.scope_hash
  where r.owner = a.owner and r.fence = a.fence and r.state = 'processing'
  for no key update of r skip locked
),
renewed as (
  update {prefix}records r
  set lease_until = case when r.lease_until is not null then clock_timestamp() + h.lease_ms * interval '1 ms' end
  from held h
  where r.key = h.key and r.scope_hash = h.scope_hash
  returning h.place
)
select place, 1 from renewed
union all
select a.place, 0
from asked a
join {prefix}records r on r.key = a.key and r.scope_hash = a.scope_hash
where r.owner = a.owner and r.fence = a.fence and r.state = 'processing'
  and not exists (select from renewed n where n.place = a.place)
