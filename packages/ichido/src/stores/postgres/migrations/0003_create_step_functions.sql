-- Steps, and the decisions on records in doubt that they leave; functions for the reason given in
-- `0002_create_functions.sql`.

-- Starts and finishes steps: each call costs about what one keyed insert costs. It writes one row of its own and, as a
-- rule, only locks the record. The record is written for the first step of its life, which makes `steps_started` more than
-- zero (how many there are is counted where it is asked), and when what is left of its lease is less than half of what was
-- asked for, or more than twice that.
-- Without a result it starts the step, with one it finishes it. The first start and the first result stay; every start
-- moves the last one until the step is finished. Steps of an expired life go when the next life starts its first.
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
  insert into {prefix}steps as s (key, scope_hash, life, name, attempt, result, started_at, last_started_at, finished_at)
  values (
    of_key, of_scope, held_life, of_name, held_attempt, of_result, moment, moment,
    case when of_result is not null then moment end
  )
  on conflict (key, scope_hash, life, name) do update set last_started_at = excluded.last_started_at
  where s.finished_at is null;
  return true;
end
$step$;

-- A decision on a record in doubt, with its audit row. A function, because each of its statements sees what was committed
-- while it waited for the record's row: a step that the former owner finished just then stays, one that it started goes.
-- Adopt and release bring nobody's owner and a greater fence: whoever held the record can no longer complete it, nor mistake the
-- adopted answer for its own. Hold leaves both. After a person's release, steps without a result did not happen; a policy
-- speaks of the operation as a whole, and leaves them to their own `onUnknown`.
-- Returns the verdict. Guarantees S15, S16.
create function {prefix}settle(
  of_key text, of_scope bytea, of_fence bigint, decision text, of_kind text, of_status integer, of_headers text,
  of_body bytea, of_actor text, of_reason text, channel text, unless_held boolean
) returns text language plpgsql volatile set enable_seqscan = off as $settle$
declare
  r {prefix}records%rowtype;
  moment timestamptz;
begin
  select * into r from {prefix}records s where s.key = of_key and s.scope_hash = of_scope for no key update;
  if not found then
    return 'absent';
  end if;
  moment := clock_timestamp();
  if r.state = 'completed' then
    return 'completed';
  elsif r.fence <> of_fence then
    return 'stale';
  elsif unless_held and r.hold_reason is not null then
    return 'stale';
  elsif r.lease_until > moment and r.lease_until <= moment + interval '{leaseAbsurdSeconds} s' then
    return 'live';
  end if;
  if decision = 'hold' then
    update {prefix}records s
      set state = 'processing', lease_until = null, hold_reason = of_reason, updated_at = moment
      where s.key = of_key and s.scope_hash = of_scope;
  else
    if decision = 'release' and not unless_held then
      delete from {prefix}steps s
        where s.key = of_key and s.scope_hash = of_scope and s.life = r.life and s.finished_at is null;
      if not exists (
        select from {prefix}steps s where s.key = of_key and s.scope_hash = of_scope and s.life = r.life
      ) then
        r.steps_started := 0;
      end if;
    end if;
    update {prefix}records s
      set state = case decision when 'adopt' then 'completed' else 'failed' end,
        owner = '{nobody}', fence = greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint),
        lease_until = null, hold_reason = null, steps_started = r.steps_started,
        response_kind = of_kind, response_status = of_status, response_headers = of_headers, response_body = of_body,
        updated_at = moment
      where s.key = of_key and s.scope_hash = of_scope;
  end if;
  insert into {prefix}audit (key, scope_hash, fence, actor, action, reason, at)
    values (of_key, of_scope, of_fence, of_actor, decision, of_reason, moment);
  if r.watched then
    perform pg_notify(channel, encode(sha256(convert_to(of_key, 'UTF8') || of_scope), 'hex'));
  end if;
  return 'ok';
end
$settle$;
