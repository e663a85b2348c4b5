-- Starts and finishes steps, as a function for the reason given in `0002_create_functions.sql`: each call costs about what
-- one keyed insert costs. It writes one row of its own and, as a rule, only locks the record. The record is written for the
-- first step of its life, which makes `steps_started` more than zero (how many there are is counted where it is asked), and
-- when what is left of its lease is less than half of what was asked for, or more than twice that.
-- Without a result it starts the step, with one it finishes it. The first start and the first result stay. Steps of an
-- expired life go when the next life starts its first.
-- A start that may be lost is not waited for until it is on the disk; the result that follows takes it there.
-- Returns: whether owner and fence hold the record. Guarantees S5, S11, S15: whoever takes a record over updates it, and a
-- shared lock and an update wait for each other; whichever comes second judges the newest version. The lock is shared, so
-- that steps of one operation do not wait for each other's commit. A record to be written is updated at once and never
-- under a shared lock, which two could not raise at the same time.
create function {prefix}step(
  of_key text, of_scope bytea, of_owner uuid, of_fence bigint, of_name text, lease_ms bigint, of_result bytea,
  may_be_lost boolean
) returns boolean language plpgsql volatile set enable_seqscan = off as $step$
declare
  moment timestamptz := clock_timestamp();
  held_life bigint;
  held_attempt integer;
begin
  if may_be_lost then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select r.life, r.attempts into held_life, held_attempt
  from {prefix}records r
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
    and r.state = 'processing' and r.steps_started > 0
    and r.lease_until between moment + lease_ms * interval '0.5 ms' and moment + lease_ms * interval '2 ms'
  for share;
  if not found then
    update {prefix}records r set
      lease_until = case when r.lease_until is not null then clock_timestamp() + lease_ms * interval '1 ms' end,
      steps_started = greatest(r.steps_started, 1),
      updated_at = clock_timestamp()
    where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
      and r.state = 'processing'
    returning r.life, r.attempts into held_life, held_attempt;
    if not found then
      return false;
    end if;
    delete from {prefix}steps s where s.key = of_key and s.scope_hash = of_scope and s.life <> held_life;
  end if;
  if of_result is not null then
    update {prefix}steps s set result = of_result, finished_at = moment
    where s.key = of_key and s.scope_hash = of_scope and s.life = held_life and s.name = of_name and s.finished_at is null;
    if found then
      return true;
    end if;
  end if;
  insert into {prefix}steps (key, scope_hash, life, name, attempt, result, started_at, finished_at)
  values (
    of_key, of_scope, held_life, of_name, held_attempt, of_result, moment, case when of_result is not null then moment end
  )
  on conflict do nothing;
  return true;
end
$step$;
