-- Records the result of an external call and renews the lease. The first result stays.
-- Parameters: key, scope hash, owner, fence, step name, lease ms, result.
-- Rows: one when it holds, none when stale. Guarantee S5.
with held as materialized (
  select r.key, r.scope_hash, r.life, r.attempts
  from {prefix}records r
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state = 'processing'
  for no key update
),
finished as (
  insert into {prefix}steps as s (key, scope_hash, life, name, attempt, result, started_at, finished_at)
  select h.key, h.scope_hash, h.life, $5::text, h.attempts, $7::bytea, clock_timestamp(), clock_timestamp() from held h
  on conflict (key, scope_hash, life, name) do update
    set result = coalesce(s.result, excluded.result), finished_at = coalesce(s.finished_at, excluded.finished_at)
  -- A fresh row has no deleting transaction: the step was never started.
  returning (s.xmax = 0)::integer as unstarted
)
update {prefix}records r
set lease_until = case when r.lease_until is not null then clock_timestamp() + $6::bigint * interval '1 ms' end,
  steps_started = r.steps_started + (select coalesce(sum(unstarted), 0) from finished)::integer,
  updated_at = clock_timestamp()
from held h
where r.key = h.key and r.scope_hash = h.scope_hash
returning 1
