-- The verbs of every request as functions, because their plans are then kept by the server's own sessions: sent as
-- plain text through a transaction pooler the same logic costs several times its own run in parsing and planning. A changed
-- function gets a new name in a new migration, so that two releases can serve side by side while a deploy rolls.
-- Small tables tempt the planner to scan them, and a kept plan would go on doing so when they have grown: scans are off.
-- Nothing here is worth compiling either, whatever a disabled scan seems to cost. Plans are kept from the first call on:
-- what is given does not change them, and the planner would make one for each group that costs as much as its run.

-- Claims identities, in the order given; callers sort, so that no two ever wait in a circle.
-- Rows: one per identity, `place` counting from 1, in any order. Guarantees S1 to S4, S6, S8 to S11.
-- Of a crowd, one statement answers all replays with equal bytes, and writes nothing; another one inserts all that were
-- not there. Whoever is left, and a claim that comes alone, is judged by itself: the first of these waits for locks only
-- after all inserts of its crowd, so that crowds still never wait in a circle. What is new tells no canonical hash, which
-- is the caller's own. `offset 0` has the planner look up each key, whatever it thinks of the size of the table.
-- Judged by itself, a first look without a lock answers replays and refusals and writes nothing. What may be taken is
-- judged again on the newest version under its row lock. Each statement has a fresh snapshot (READ COMMITTED), so a row
-- that appeared meanwhile is seen by the next look.
-- A claim that is sent again is told how its owner first came by the record. Nobody takes a record on hold, and `open` takes
-- one with an interim answer. `damaged`: it has a state that no statement writes. A doubt that stays outlives retention, also where a claim that was refused says so.
create function {prefix}claim(
  keys text[], scope_hashes bytea[], tenants text[], principals text[], operations text[],
  versions integer[], raws bytea[], canonicals bytea[], formers bytea[],
  owners uuid[], leases_ms bigint[], retentions_ms bigint[], takeovers text[], stays boolean[],
  label_sets text[], lock_ms integer
) returns table (
  place integer, outcome text, held_fence bigint, attempt integer, held_origin text, steps integer, canonical bytea,
  created_ms bigint, expires_ms bigint, expires_in_ms bigint, lease_left_ms bigint,
  held_reason text, kind text, status integer, headers text, body bytea, resent boolean
) language plpgsql volatile set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $claim$
declare
  r {prefix}records%rowtype;
  locked boolean;
  moment timestamptz;
  live boolean;
  doubtful boolean;
  trusted boolean;
  taken text;
  former_timeout text := current_setting('lock_timeout');
  -- Whose record was looked at, or is made; and who is left to be judged alone.
  seen boolean[] := array_fill(false, array[cardinality(keys)]);
  rest integer[] := '{}';
  is_replay boolean;
  new_key text;
  new_scope bytea;
  i integer;
begin
  -- A standby lags: what it does not show may exist. It could not write, but would answer from what it has.
  if pg_is_in_recovery() then
    raise exception 'ichido claims on the primary only' using errcode = 'read_only_sql_transaction';
  end if;
  -- For this transaction alone: nothing of it stays on a pooled session. And put back at the end: the transaction may be
  -- the caller's.
  perform set_config('lock_timeout', lock_ms::text, true);
  if cardinality(keys) > 1 then
    moment := clock_timestamp();
    outcome := 'completed';
    for place, is_replay, held_fence, attempt, created_ms, expires_ms, expires_in_ms, kind, status, headers, body in
      select a.place, s.state = 'completed' and s.expires_at > moment and s.fingerprint_raw = a.raw,
        s.fence, s.attempts, (date_part('epoch', s.created_at) * 1000000)::bigint / 1000,
        (date_part('epoch', s.expires_at) * 1000000)::bigint / 1000,
        (date_part('epoch', s.expires_at - moment) * 1000000)::bigint / 1000,
        s.response_kind, s.response_status, s.response_headers, s.response_body
      from unnest(keys, scope_hashes, raws) with ordinality as a (key, scope_hash, raw, place)
      cross join lateral (
        select t.* from {prefix}records t where t.key = a.key and t.scope_hash = a.scope_hash offset 0
      ) as s
    loop
      seen[place] := true;
      if is_replay then
        return next;
      else
        rest := rest || place;
      end if;
    end loop;

    kind := null;
    status := null;
    headers := null;
    body := null;
    expires_in_ms := null;
    outcome := 'granted';
    held_fence := (extract(epoch from moment) * 1000000)::bigint;
    created_ms := held_fence / 1000;
    attempt := 1;
    held_origin := 'new';
    steps := 0;
    place := 0;
    -- Waits for whoever is inserting the same identity at this moment.
    for new_key, new_scope, expires_ms in
      insert into {prefix}records as s (
        key, scope_hash, tenant, principal, operation,
        fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
        state, origin, owner, fence, life, attempts, lease_until, labels, created_at, updated_at, expires_at,
        doubt_stays
      )
      select a.key, a.scope_hash, a.tenant, a.principal, a.operation, a.version, a.raw, a.canonical, a.former,
        'processing', 'new', a.owner, held_fence, held_fence, 1, moment + a.lease_ms * interval '1 ms',
        a.labels::jsonb, moment, moment, moment + a.retention_ms * interval '1 ms', a.stays
      from unnest(
        keys, scope_hashes, tenants, principals, operations, versions, raws, canonicals, formers,
        owners, leases_ms, retentions_ms, label_sets, stays, seen
      ) as a (
        key, scope_hash, tenant, principal, operation, version, raw, canonical, former,
        owner, lease_ms, retention_ms, labels, stays, was_seen
      )
      where not a.was_seen
      on conflict do nothing
      returning s.key, s.scope_hash, (date_part('epoch', s.expires_at) * 1000000)::bigint / 1000
    loop
      -- In the order given, without those that were there.
      loop
        place := place + 1;
        exit when keys[place] = new_key and scope_hashes[place] = new_scope or place > cardinality(keys);
      end loop;
      seen[place] := true;
      return next;
    end loop;
  end if;
  for j in 1 .. cardinality(keys) loop
    if not seen[j] then
      rest := rest || j;
    end if;
  end loop;
  -- Those that appeared meanwhile came last: locks are taken in the order given, as everywhere.
  if cardinality(rest) > 1 then
    select array_agg(p order by p) into rest from unnest(rest) p;
  end if;

  foreach i in array rest loop
    locked := false;
    loop
      if locked then
        select * into r from {prefix}records s
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] for no key update;
      else
        select * into r from {prefix}records s where s.key = keys[i] and s.scope_hash = scope_hashes[i];
      end if;
      moment := clock_timestamp();
      if not found then
        -- Waits for whoever is inserting the same identity at this moment.
        insert into {prefix}records as s (
          key, scope_hash, tenant, principal, operation,
          fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
          state, origin, owner, fence, life, attempts, lease_until, labels, created_at, updated_at, expires_at,
          doubt_stays
        ) values (
          keys[i], scope_hashes[i], tenants[i], principals[i], operations[i],
          versions[i], raws[i], canonicals[i], formers[i],
          'processing', 'new', owners[i], (extract(epoch from moment) * 1000000)::bigint,
          (extract(epoch from moment) * 1000000)::bigint, 1, moment + leases_ms[i] * interval '1 ms',
          label_sets[i]::jsonb, moment, moment, moment + retentions_ms[i] * interval '1 ms',
          stays[i]
        ) on conflict do nothing returning s.* into r;
        taken := 'new';
        exit when found;
        locked := true;
        continue;
      end if;

      -- A lease further ahead than twice the longest one was set by a clock that has since gone back.
      live := coalesce(r.lease_until > moment and r.lease_until <= moment + interval '{leaseAbsurdSeconds} s', false);
      doubtful := r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null);
      trusted := false;
      if r.expires_at <= moment then
        trusted := coalesce((
          select moment - t.last_at between interval '0' and t.interval_ms * interval '{tickGapIntervals} ms'
            and moment - t.steady_since >= t.interval_ms * interval '{tickGapIntervals} ms'
          from {prefix}clock t where t.id = 1), false);
      end if;
      taken := case
        when trusted and (r.state = 'completed' or (r.steps_started = 0
          and (r.state = 'failed' or not (r.doubt_stays or doubtful or live)))) then 'new'
        when not (r.fingerprint_raw = raws[i]
          or r.fingerprint_canonical = canonicals[i]
          or r.fingerprint_canonical = coalesce(formers[i], canonicals[i])
          or coalesce(r.fingerprint_former = canonicals[i], false)) then 'mismatch'
        when r.state = 'completed' then 'completed'
        when r.state = 'failed' then 'failed'
        -- Written by nobody here: what was done is not known, and it must not look like a lease that lapsed.
        when r.state <> 'processing' then 'damaged'
        -- An owner that left its record in doubt does not get it back by a claim that was under way meanwhile.
        when r.owner = owners[i] and (live or not doubtful) then 'resend'
        when live then 'processing'
        when r.hold_reason is not null then 'unknown'
        when doubtful then case when takeovers[i] = 'open' then 'suspended' else 'unknown' end
        when takeovers[i] = 'none' then 'unknown'
        else 'lapsed'
      end;
      exit when taken in ('mismatch', 'completed', 'processing', 'damaged')
        or (taken = 'unknown' and (r.doubt_stays or not stays[i]));
      if not locked then
        locked := true;
        continue;
      end if;

      if taken = 'unknown' then
        -- Whoever is told of a doubt that must outlive its retention relies on that, whatever the policy of its owner was.
        update {prefix}records s set doubt_stays = true where s.key = keys[i] and s.scope_hash = scope_hashes[i];
      elsif taken = 'resend' then
        update {prefix}records s
          set lease_until = moment + leases_ms[i] * interval '1 ms', updated_at = moment
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] returning s.* into r;
      elsif taken = 'new' then
        r.fence := greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint);
        update {prefix}records s
          set tenant = tenants[i], principal = principals[i], operation = operations[i],
            fingerprint_version = versions[i], fingerprint_raw = raws[i], fingerprint_canonical = canonicals[i],
            fingerprint_former = formers[i], state = 'processing', origin = 'new', owner = owners[i],
            fence = r.fence, life = r.fence, attempts = 1, doubt_stays = stays[i],
            lease_until = moment + leases_ms[i] * interval '1 ms', steps_started = 0, hold_reason = null,
            response_kind = null, response_status = null, response_headers = null, response_body = null,
            labels = label_sets[i]::jsonb, watched = false,
            created_at = moment, updated_at = moment, expires_at = moment + retentions_ms[i] * interval '1 ms'
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] returning s.* into r;
      else
        update {prefix}records s
          set state = 'processing', origin = taken, owner = owners[i],
            fence = greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint), attempts = r.attempts + 1,
            doubt_stays = r.doubt_stays or stays[i], lease_until = moment + leases_ms[i] * interval '1 ms', updated_at = moment
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] returning s.* into r;
      end if;
      exit;
    end loop;

    place := i;
    outcome := case
      when taken in ('mismatch', 'completed', 'processing', 'unknown', 'damaged') then taken else 'granted' end;
    held_fence := r.fence;
    attempt := r.attempts;
    held_origin := r.origin;
    steps := r.steps_started;
    canonical := r.fingerprint_canonical;
    created_ms := floor(extract(epoch from r.created_at) * 1000);
    expires_ms := floor(extract(epoch from r.expires_at) * 1000);
    expires_in_ms := floor(extract(epoch from r.expires_at - moment) * 1000);
    lease_left_ms := ceil(extract(epoch from r.lease_until - moment) * 1000);
    held_reason := r.hold_reason;
    kind := r.response_kind;
    status := r.response_status;
    headers := r.response_headers;
    body := r.response_body;
    resent := taken = 'resend';
    return next;
  end loop;
  perform set_config('lock_timeout', former_timeout, true);
end
$claim$;

-- Stores final answers, each if owner and fence still hold the record; alone or in the caller's transaction.
-- `bodies` are all bodies joined, so that they travel as bytes; `first_bytes` and `lengths` say whose is whose.
-- Rows: the place of each that holds, counting from 1; stale ones are missing. Guarantees S5, S7: once completed, the same
-- owner and fence change nothing, which is how a completion whose reply was lost learns that it went through. In the order
-- given, as above. Without `lock_ms` the lock timeout is the caller's.
-- A crowd is one statement, which finds each row by its place on the disk: owner and fence are compared in a way that no
-- index knows, so the planner has no other way, however small it takes the table for. A row that moved meanwhile is passed
-- over, and judged by itself as the rest.
create function {prefix}complete(
  keys text[], scope_hashes bytea[], owners uuid[], fences bigint[], kinds text[], statuses integer[], header_sets text[],
  first_bytes integer[], lengths integer[], bodies bytea, channel text, lock_ms integer
) returns table (place integer) language plpgsql volatile set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $complete$
declare
  watched_now boolean;
  former_timeout text := current_setting('lock_timeout');
  holds boolean[] := array_fill(false, array[cardinality(keys)]);
begin
  perform set_config('lock_timeout', coalesce(lock_ms::text, former_timeout), true);
  if cardinality(keys) > 1 then
    for place, watched_now in
      update {prefix}records r set
        state = 'completed', lease_until = null, hold_reason = null,
        response_kind = a.kind, response_status = a.status, response_headers = a.headers,
        response_body = substring(bodies from a.first_byte for a.length), updated_at = clock_timestamp()
      from unnest(keys, scope_hashes, owners, fences, kinds, statuses, header_sets, first_bytes, lengths) with ordinality
        as a (key, scope_hash, owner, fence, kind, status, headers, first_byte, length, place)
      where r.ctid = (select s.ctid from {prefix}records s where s.key = a.key and s.scope_hash = a.scope_hash)
        and (r.owner, r.fence) is not distinct from (a.owner, a.fence) and r.state = 'processing'
      returning a.place, r.watched
    loop
      holds[place] := true;
      -- Only when somebody waits: a notification makes commits of the whole database wait for each other.
      if watched_now then
        perform pg_notify(channel, encode(sha256(convert_to(keys[place], 'UTF8') || scope_hashes[place]), 'hex'));
      end if;
      return next;
    end loop;
  end if;
  for i in 1 .. cardinality(keys) loop
    continue when holds[i];
    update {prefix}records r set
      state = 'completed', lease_until = null, hold_reason = null,
      response_kind = kinds[i], response_status = statuses[i], response_headers = header_sets[i],
      response_body = substring(bodies from first_bytes[i] for lengths[i]), updated_at = clock_timestamp()
    where r.key = keys[i] and r.scope_hash = scope_hashes[i] and r.owner = owners[i] and r.fence = fences[i]
      and r.state = 'processing'
    returning r.watched into watched_now;
    if found then
      if watched_now then
        perform pg_notify(channel, encode(sha256(convert_to(keys[i], 'UTF8') || scope_hashes[i]), 'hex'));
      end if;
    else
      -- A copy of this very completion that was under way has been waited for above.
      perform from {prefix}records r
      where r.key = keys[i] and r.scope_hash = scope_hashes[i] and r.owner = owners[i] and r.fence = fences[i]
        and r.state = 'completed';
      continue when not found;
    end if;
    place := i;
    return next;
  end loop;
  perform set_config('lock_timeout', former_timeout, true);
end
$complete$;
