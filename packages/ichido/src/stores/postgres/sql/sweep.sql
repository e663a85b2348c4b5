-- Removes a small batch of expired records with their steps and all that was noted about them. What people decided about them stays (`audit`).
-- Parameters: how many.
-- Rows: one: whether the clock is trusted, how many went, whether more could go, whether no other sweeper was at work.
-- Guarantees S10, S11, S12: rows that other transactions hold are passed over, and each is judged again under its lock.
-- The lock against other sweepers ends with this transaction, so it needs nothing of the session.
with moment as materialized (
  select m.now, pg_try_advisory_xact_lock(hashtext('ichido.sweep'), '{prefix}records'::regclass::oid::integer) as alone,
  coalesce((
    select m.now - t.last_at between interval '0' and t.interval_ms * interval '{tickGapIntervals} ms'
      and m.now - t.steady_since >= t.interval_ms * interval '{tickGapIntervals} ms'
    from {prefix}clock t where t.id = 1), false) as trusted
  from (select clock_timestamp() as now offset 0) m
),
due as materialized (
  select r.key, r.scope_hash
  from {prefix}records r
  where (select trusted and alone from moment)
    and r.expires_at <= (select now from moment)
    and (r.state = 'completed' or (
      r.steps_started = 0 and (r.state = 'failed' or not (
        r.doubt_stays or r.hold_reason is not null or r.response_kind is not null
        or coalesce(r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s', false)
      ))
    ) or (
      -- Released long ago, with the results of steps and no step without one.
      r.state = 'failed' and r.expires_at + {spentRetentions} * (r.expires_at - r.created_at) <= (select now from moment)
      and not exists (
        select from {prefix}steps s
        where s.key = r.key and s.scope_hash = r.scope_hash and s.life = r.life and s.finished_at is null
      )
    ))
  order by r.expires_at
  limit $1::integer + 1
  for update skip locked
),
gone as (
  delete from {prefix}records r using (select * from due limit $1::integer) d
  where r.key = d.key and r.scope_hash = d.scope_hash
  returning r.key, r.scope_hash
),
steps_gone as (
  delete from {prefix}steps s using gone g where s.key = g.key and s.scope_hash = g.scope_hash
),
resources_gone as (
  delete from {prefix}resources m using gone g where m.key = g.key and m.scope_hash = g.scope_hash
),
attempts_gone as (
  delete from {prefix}attempts a using gone g where a.key = g.key and a.scope_hash = g.scope_hash
),
twins_gone as (
  delete from {prefix}twins t using gone g
  where (t.first_key = g.key and t.scope_hash = g.scope_hash) or (t.second_key = g.key and t.scope_hash = g.scope_hash)
)
select
  (select trusted from moment)::integer,
  (select count(*) from gone),
  ((select count(*) from due) > $1::integer)::integer,
  (select alone from moment)::integer
