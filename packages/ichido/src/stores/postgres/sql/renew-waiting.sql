-- Extends one lease, and waits for the row: what `renew` found locked.
-- Parameters: key, scope hash, owner, fence, lease ms, lock timeout in ms.
-- Rows: one when it holds, none when stale.
-- Guarantee: S5.
with patience as materialized (select set_config('lock_timeout', $6::text, true))
update {prefix}records r
set lease_until = case when r.lease_until is not null then clock_timestamp() + $5::bigint * interval '1 ms' end
from patience
where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
  and r.state = 'processing'
returning 1
