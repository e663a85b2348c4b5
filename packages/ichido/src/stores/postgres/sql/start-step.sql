-- Records the start of an external call and renews the lease. Starting a started step again changes only the lease.
-- Parameters: key, scope hash, owner, fence, step name, lease ms.
-- Rows: one when it holds, none when stale. Guarantee S5: the record is locked first, so that no step is written for an
-- owner that was overtaken meanwhile. Steps of an expired life go when the next life starts its first.
with held as materialized (
  select r.key, r.scope_hash, r.life, r.attempts
  from {prefix}records r
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state = 'processing'
  for no key update
),
gone as (
  delete from {prefix}steps s using held h where s.key = h.key and s.scope_hash = h.scope_hash and s.life <> h.life
),
started as (
  insert into {prefix}steps (key, scope_hash, life, name, attempt, started_at)
  select h.key, h.scope_hash, h.life, $5::text, h.attempts, clock_timestamp() from held h
  on conflict do nothing
  returning 1
)
update {prefix}records r
set lease_until = case when r.lease_until is not null then clock_timestamp() + $6::bigint * interval '1 ms' end,
  steps_started = r.steps_started + (select count(*) from started)::integer,
  updated_at = clock_timestamp()
from held h
where r.key = h.key and r.scope_hash = h.scope_hash
returning 1
