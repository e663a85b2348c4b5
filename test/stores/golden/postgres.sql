-- table: ichido_attempts with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_insert_scale_factor=0.2)
-- table: ichido_audit
-- table: ichido_clock with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=50)
-- table: ichido_engines with (fillfactor=50)
-- table: ichido_log_pages
-- table: ichido_log_sweep with (fillfactor=50)
-- table: ichido_migrations
-- table: ichido_open_records with (autovacuum_vacuum_scale_factor=0.1)
-- table: ichido_open_until with (fillfactor=50)
-- table: ichido_processes with (fillfactor=50)
-- table: ichido_records with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05, autovacuum_vacuum_cost_delay=1)
-- table: ichido_resources
-- table: ichido_steps with (fillfactor=85, autovacuum_vacuum_scale_factor=0.02)
-- table: ichido_twins
-- column: ichido_attempts.place bigint not null generated always as identity
-- column: ichido_attempts.written_at timestamp with time zone not null
-- column: ichido_attempts.key text collate "C" not null
-- column: ichido_attempts.scope_hash bytea not null
-- column: ichido_attempts.operation text collate "C" not null
-- column: ichido_attempts.at timestamp with time zone not null
-- column: ichido_attempts.took_us bigint not null
-- column: ichido_attempts.outcome text collate "C" not null
-- column: ichido_attempts.observed boolean not null
-- column: ichido_attempts.status integer
-- column: ichido_attempts.attempt integer
-- column: ichido_attempts.fence bigint
-- column: ichido_attempts.number bigint not null
-- column: ichido_attempts.count bigint not null
-- column: ichido_attempts.spread_us bigint not null
-- column: ichido_attempts.process text collate "C" not null
-- column: ichido_attempts.release text collate "C"
-- column: ichido_attempts.asked_by text
-- column: ichido_audit.place bigint not null generated always as identity
-- column: ichido_audit.key text collate "C" not null
-- column: ichido_audit.scope_hash bytea not null
-- column: ichido_audit.fence bigint not null
-- column: ichido_audit.actor text not null
-- column: ichido_audit.action text collate "C" not null
-- column: ichido_audit.reason text not null
-- column: ichido_audit.at timestamp with time zone not null
-- column: ichido_clock.id smallint not null
-- column: ichido_clock.last_at timestamp with time zone not null
-- column: ichido_clock.interval_ms bigint not null
-- column: ichido_clock.steady_since timestamp with time zone not null
-- column: ichido_engines.engine text collate "C" not null
-- column: ichido_engines.note text not null
-- column: ichido_engines.noted_at timestamp with time zone not null
-- column: ichido_log_pages.place bigint not null generated always as identity
-- column: ichido_log_pages.written_at timestamp with time zone not null
-- column: ichido_log_pages.keep_until timestamp with time zone not null
-- column: ichido_log_pages.process text collate "C" not null
-- column: ichido_log_pages.intents bytea not null
-- column: ichido_log_pages.notes bytea not null
-- column: ichido_log_sweep.id smallint not null
-- column: ichido_log_sweep.written_at timestamp with time zone not null
-- column: ichido_log_sweep.place bigint not null
-- column: ichido_migrations.part text collate "C" not null
-- column: ichido_migrations.version integer not null
-- column: ichido_migrations.name text not null
-- column: ichido_migrations.checksum text not null
-- column: ichido_migrations.applied_at timestamp with time zone not null default clock_timestamp()
-- column: ichido_open_records.key text collate "C" not null
-- column: ichido_open_records.scope_hash bytea not null
-- column: ichido_open_until.id smallint not null
-- column: ichido_open_until.fence bigint not null
-- column: ichido_processes.owners text collate "C" not null
-- column: ichido_processes.process text collate "C" not null
-- column: ichido_processes.release text collate "C"
-- column: ichido_processes.seen_at timestamp with time zone not null
-- column: ichido_records.key text collate "C" not null
-- column: ichido_records.scope_hash bytea not null
-- column: ichido_records.tenant text collate "C"
-- column: ichido_records.principal text collate "C"
-- column: ichido_records.operation text collate "C" not null
-- column: ichido_records.fingerprint_version integer not null
-- column: ichido_records.fingerprint_raw bytea not null
-- column: ichido_records.fingerprint_canonical bytea not null
-- column: ichido_records.fingerprint_former bytea
-- column: ichido_records.state text collate "C" not null
-- column: ichido_records.origin text collate "C" not null
-- column: ichido_records.owner uuid not null
-- column: ichido_records.fence bigint not null
-- column: ichido_records.life bigint not null
-- column: ichido_records.attempts integer not null
-- column: ichido_records.lease_until timestamp with time zone
-- column: ichido_records.steps_started integer not null default 0
-- column: ichido_records.hold_reason text
-- column: ichido_records.response_kind text collate "C"
-- column: ichido_records.response_status integer
-- column: ichido_records.response_headers text
-- column: ichido_records.response_body bytea
-- column: ichido_records.labels jsonb
-- column: ichido_records.watched boolean not null default false
-- column: ichido_records.created_at timestamp with time zone not null
-- column: ichido_records.updated_at timestamp with time zone not null
-- column: ichido_records.expires_at timestamp with time zone not null
-- column: ichido_records.doubt_stays boolean not null default true
-- column: ichido_resources.kind text collate "C" not null
-- column: ichido_resources.id text collate "C" not null
-- column: ichido_resources.key text collate "C" not null
-- column: ichido_resources.scope_hash bytea not null
-- column: ichido_resources.life bigint not null
-- column: ichido_resources.ordinal integer not null
-- column: ichido_steps.key text collate "C" not null
-- column: ichido_steps.scope_hash bytea not null
-- column: ichido_steps.life bigint not null
-- column: ichido_steps.name text collate "C" not null
-- column: ichido_steps.place bigint not null generated always as identity
-- column: ichido_steps.attempt integer not null
-- column: ichido_steps.result bytea
-- column: ichido_steps.started_at timestamp with time zone not null
-- column: ichido_steps.finished_at timestamp with time zone
-- column: ichido_steps.last_started_at timestamp with time zone
-- column: ichido_twins.place bigint not null generated always as identity
-- column: ichido_twins.written_at timestamp with time zone not null
-- column: ichido_twins.scope_hash bytea not null
-- column: ichido_twins.operation text collate "C" not null
-- column: ichido_twins.first_key text collate "C" not null
-- column: ichido_twins.second_key text collate "C" not null
-- column: ichido_twins.apart_us bigint not null
-- constraint: ichido_audit PRIMARY KEY (place)
-- constraint: ichido_clock CHECK ((id = 1))
-- constraint: ichido_clock PRIMARY KEY (id)
-- constraint: ichido_engines PRIMARY KEY (engine)
-- constraint: ichido_log_pages PRIMARY KEY (place)
-- constraint: ichido_log_sweep CHECK ((id = 1))
-- constraint: ichido_log_sweep PRIMARY KEY (id)
-- constraint: ichido_migrations PRIMARY KEY (part, version)
-- constraint: ichido_open_records PRIMARY KEY (key, scope_hash)
-- constraint: ichido_open_until CHECK ((id = 1))
-- constraint: ichido_open_until PRIMARY KEY (id)
-- constraint: ichido_processes PRIMARY KEY (owners)
-- constraint: ichido_records PRIMARY KEY (key, scope_hash)
-- constraint: ichido_resources PRIMARY KEY (kind, id, key, scope_hash, life)
-- constraint: ichido_steps PRIMARY KEY (key, scope_hash, life, name)
-- constraint: ichido_twins PRIMARY KEY (first_key, scope_hash, second_key)
-- index: CREATE INDEX ichido_attempts_identity ON public.ichido_attempts USING btree (key, scope_hash)
-- index: CREATE INDEX ichido_attempts_written ON public.ichido_attempts USING btree (written_at, place)
-- index: CREATE INDEX ichido_audit_identity ON public.ichido_audit USING btree (key, scope_hash, place)
-- index: CREATE INDEX ichido_log_pages_keep ON public.ichido_log_pages USING btree (keep_until)
-- index: CREATE INDEX ichido_log_pages_written ON public.ichido_log_pages USING btree (written_at, place)
-- index: CREATE INDEX ichido_records_expires_at ON public.ichido_records USING btree (expires_at)
-- index: CREATE INDEX ichido_records_fence ON public.ichido_records USING btree (fence)
-- index: CREATE INDEX ichido_records_labels ON public.ichido_records USING gin (labels jsonb_path_ops) WHERE (labels IS NOT NULL)
-- index: CREATE INDEX ichido_resources_identity ON public.ichido_resources USING btree (key, scope_hash)
-- index: CREATE INDEX ichido_twins_second ON public.ichido_twins USING btree (second_key, scope_hash)
-- index: CREATE INDEX ichido_twins_written ON public.ichido_twins USING btree (written_at, place)
-- index: CREATE UNIQUE INDEX ichido_audit_pkey ON public.ichido_audit USING btree (place)
-- index: CREATE UNIQUE INDEX ichido_clock_pkey ON public.ichido_clock USING btree (id)
-- index: CREATE UNIQUE INDEX ichido_engines_pkey ON public.ichido_engines USING btree (engine)
-- index: CREATE UNIQUE INDEX ichido_log_pages_pkey ON public.ichido_log_pages USING btree (place)
-- index: CREATE UNIQUE INDEX ichido_log_sweep_pkey ON public.ichido_log_sweep USING btree (id)
-- index: CREATE UNIQUE INDEX ichido_migrations_pkey ON public.ichido_migrations USING btree (part, version)
-- index: CREATE UNIQUE INDEX ichido_open_records_pkey ON public.ichido_open_records USING btree (key, scope_hash)
-- index: CREATE UNIQUE INDEX ichido_open_until_pkey ON public.ichido_open_until USING btree (id)
-- index: CREATE UNIQUE INDEX ichido_processes_pkey ON public.ichido_processes USING btree (owners)
-- index: CREATE UNIQUE INDEX ichido_records_pkey ON public.ichido_records USING btree (key, scope_hash)
-- index: CREATE UNIQUE INDEX ichido_resources_pkey ON public.ichido_resources USING btree (kind, id, key, scope_hash, life)
-- index: CREATE UNIQUE INDEX ichido_steps_pkey ON public.ichido_steps USING btree (key, scope_hash, life, name)
-- index: CREATE UNIQUE INDEX ichido_twins_pkey ON public.ichido_twins USING btree (first_key, scope_hash, second_key)
-- function: ichido_add_twin(of_scope bytea, of_operation text, of_first text, of_second text, apart bigint, forgotten_headers text) with enable_seqscan=off, lock_timeout=2s

begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock_shared(hashtext('ichido.forget'), 'ichido_records'::regclass::oid::integer);
  insert into ichido_twins (written_at, scope_hash, operation, first_key, second_key, apart_us)
  select clock_timestamp(), of_scope, of_operation, of_first, of_second, apart
  where not exists (
    select from ichido_records r
    where r.key in (of_first, of_second) and r.scope_hash = of_scope and r.response_kind = 'tombstone'
      and r.response_headers = forgotten_headers
  )
  on conflict do nothing;
  return found;
end

-- function: ichido_claim(keys text[], scope_hashes bytea[], tenants text[], principals text[], operations text[], versions integer[], raws bytea[], canonicals bytea[], formers bytea[], owners uuid[], leases_ms bigint[], retentions_ms bigint[], takeovers text[], stays boolean[], label_sets text[], lock_ms integer) with enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan

declare
  r ichido_records%rowtype;
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
        select t.* from ichido_records t where t.key = a.key and t.scope_hash = a.scope_hash offset 0
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
      insert into ichido_records as s (
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
        select * into r from ichido_records s
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] for no key update;
      else
        select * into r from ichido_records s where s.key = keys[i] and s.scope_hash = scope_hashes[i];
      end if;
      moment := clock_timestamp();
      if not found then
        -- Waits for whoever is inserting the same identity at this moment.
        insert into ichido_records as s (
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
      live := coalesce(r.lease_until > moment and r.lease_until <= moment + interval '120 s', false);
      doubtful := r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null);
      trusted := false;
      if r.expires_at <= moment then
        trusted := coalesce((
          select moment - t.last_at between interval '0' and t.interval_ms * interval '3 ms'
            and moment - t.steady_since >= t.interval_ms * interval '3 ms'
          from ichido_clock t where t.id = 1), false);
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
        update ichido_records s set doubt_stays = true where s.key = keys[i] and s.scope_hash = scope_hashes[i];
      elsif taken = 'resend' then
        update ichido_records s
          set lease_until = moment + leases_ms[i] * interval '1 ms', updated_at = moment
          where s.key = keys[i] and s.scope_hash = scope_hashes[i] returning s.* into r;
      elsif taken = 'new' then
        r.fence := greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint);
        update ichido_records s
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
        update ichido_records s
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

-- function: ichido_claim_new(of_key text, of_scope bytea, of_tenant text, of_principal text, of_operation text, of_version integer, of_raw bytea, of_canonical bytea, of_former bytea, of_owner uuid, lease_ms bigint, retention_ms bigint, label_set text, lock_ms integer) with nothing set

declare
  moment timestamptz := clock_timestamp();
  new_fence bigint := (extract(epoch from moment) * 1000000)::bigint;
  former_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', lock_ms::text, true);
  insert into ichido_records (
    key, scope_hash, tenant, principal, operation,
    fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
    state, origin, owner, fence, life, attempts, lease_until, labels, created_at, updated_at, expires_at
  ) values (
    of_key, of_scope, of_tenant, of_principal, of_operation, of_version, of_raw, of_canonical, of_former,
    'processing', 'new', of_owner, new_fence, new_fence, 1, moment + lease_ms * interval '1 ms',
    label_set::jsonb, moment, moment, moment + retention_ms * interval '1 ms'
  ) on conflict do nothing;
  if not found then
    new_fence := null;
  end if;
  perform set_config('lock_timeout', former_timeout, true);
  return new_fence;
end

-- function: ichido_complete(keys text[], scope_hashes bytea[], owners uuid[], fences bigint[], kinds text[], statuses integer[], header_sets text[], first_bytes integer[], lengths integer[], bodies bytea, channel text, lock_ms integer) with enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan

declare
  watched_now boolean;
  former_timeout text := current_setting('lock_timeout');
  holds boolean[] := array_fill(false, array[cardinality(keys)]);
begin
  perform set_config('lock_timeout', coalesce(lock_ms::text, former_timeout), true);
  if cardinality(keys) > 1 then
    for place, watched_now in
      update ichido_records r set
        state = 'completed', lease_until = null, hold_reason = null,
        response_kind = a.kind, response_status = a.status, response_headers = a.headers,
        response_body = substring(bodies from a.first_byte for a.length), updated_at = clock_timestamp()
      from unnest(keys, scope_hashes, owners, fences, kinds, statuses, header_sets, first_bytes, lengths) with ordinality
        as a (key, scope_hash, owner, fence, kind, status, headers, first_byte, length, place)
      where r.ctid = (select s.ctid from ichido_records s where s.key = a.key and s.scope_hash = a.scope_hash)
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
    update ichido_records r set
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
      perform from ichido_records r
      where r.key = keys[i] and r.scope_hash = scope_hashes[i] and r.owner = owners[i] and r.fence = fences[i]
        and r.state = 'completed';
      continue when not found;
    end if;
    place := i;
    return next;
  end loop;
  perform set_config('lock_timeout', former_timeout, true);
end

-- function: ichido_complete_one(of_key text, of_scope bytea, of_owner uuid, of_fence bigint, of_kind text, of_status integer, of_headers text, of_body bytea, channel text, is_last boolean) with enable_seqscan=off

declare
  watched_now boolean;
begin
  update ichido_records r set
    state = 'completed', lease_until = null, hold_reason = null,
    response_kind = of_kind, response_status = of_status, response_headers = of_headers, response_body = of_body,
    updated_at = clock_timestamp()
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
    and r.state = 'processing'
  returning r.watched into watched_now;
  if found then
    if watched_now then
      perform pg_notify(channel, encode(sha256(convert_to(of_key, 'UTF8') || of_scope), 'hex'));
    end if;
    return true;
  end if;
  if is_last then
    raise exception using errcode = 'IC001', message = 'another attempt owns this key';
  end if;
  perform from ichido_records r
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence and r.state = 'completed';
  return found;
end

-- function: ichido_find_open() with enable_seqscan=off, jit=off

  select o.key, o.scope_hash from ichido_open_records o
  union
  select r.key, r.scope_hash from ichido_records r
  where r.state <> 'completed' and r.fence >= (
    -- What was claimed since the clock went back, until that is noted.
    select least(coalesce(max(u.fence), 0), (extract(epoch from clock_timestamp()) * 1000000)::bigint - 90 * 1000000::bigint)
    from ichido_open_until u where u.id = 1
  )

-- function: ichido_forget(of_key text, of_scope bytea, of_fence bigint, of_actor text, of_reason text, of_action text, of_headers text, of_status integer) with enable_seqscan=off, lock_timeout=2s

declare
  r ichido_records%rowtype;
  moment timestamptz;
begin
  begin
    select * into r from ichido_records s where s.key = of_key and s.scope_hash = of_scope for no key update;
  exception when lock_not_available then
    -- Somebody's transaction is at work on it.
    return 'live';
  end;
  if r.key is null then
    return 'absent';
  end if;
  -- Whoever writes the log ends first, or sees the tombstone. Only now: who waits for a record must keep nobody waiting.
  perform pg_advisory_xact_lock(hashtext('ichido.forget'), 'ichido_records'::regclass::oid::integer);
  moment := clock_timestamp();
  if r.state = 'processing' then
    return case
      when r.hold_reason is null and r.response_kind is null and coalesce(
        r.lease_until > moment and r.lease_until <= moment + interval '120 s', false
      ) then 'live' else 'unknown' end;
  elsif r.response_kind = 'tombstone' and r.response_headers = of_headers then
    return 'forgotten';
  elsif r.fence <> of_fence then
    return 'stale';
  end if;
  delete from ichido_steps s where s.key = of_key and s.scope_hash = of_scope;
  delete from ichido_resources m where m.key = of_key and m.scope_hash = of_scope;
  delete from ichido_attempts a where a.key = of_key and a.scope_hash = of_scope;
  delete from ichido_twins t where t.first_key = of_key and t.scope_hash = of_scope;
  delete from ichido_twins t where t.second_key = of_key and t.scope_hash = of_scope;
  update ichido_audit a set reason = '' where a.key = of_key and a.scope_hash = of_scope;
  update ichido_records s
    set state = 'completed', owner = '00000000000000000000000000000000',
      fence = greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint),
      principal = null, labels = null, lease_until = null, hold_reason = null, steps_started = 0,
      response_kind = 'tombstone', response_status = coalesce(r.response_status, of_status),
      response_headers = of_headers, response_body = '', updated_at = moment
    where s.key = of_key and s.scope_hash = of_scope;
  insert into ichido_audit (key, scope_hash, fence, actor, action, reason, at)
    values (of_key, of_scope, of_fence, of_actor, of_action, of_reason, moment);
  return 'ok';
end

-- function: ichido_landed_within(of_key text, of_scope bytea, lock_ms integer) with nothing set

begin
  if ichido_claim_new(
    of_key, of_scope, null, null, '', 0, '\x', '\x', null, '00000000-0000-0000-0000-000000000000', 0, 0, null, lock_ms
  ) is not null then
    raise exception using errcode = 'IC002', message = 'nobody has a record, and this one is not kept';
  end if;
exception
  when sqlstate 'IC002' then
    return;
end

-- function: ichido_log(of_process text, of_release text, of_owners text, keep_us bigint, page_intents bytea, page_notes bytea, keys text[], scope_hashes bytea[], operations text[], agos_us bigint[], tooks_us bigint[], outcomes text[], observed_flags integer[], statuses integer[], attempt_numbers integer[], fences bigint[], numbers bigint[], counts bigint[], spreads_us bigint[], askers text[], kept integer, forgotten_headers text) with enable_seqscan=off, jit=off, lock_timeout=2s

declare
  moment timestamptz;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock_shared(hashtext('ichido.forget'), 'ichido_records'::regclass::oid::integer);
  moment := clock_timestamp();
  if of_owners is not null then
    insert into ichido_processes as p (owners, process, release, seen_at)
    values (of_owners, of_process, of_release, moment)
    on conflict (owners) do update set seen_at = excluded.seen_at;
  end if;
  if cardinality(keys) > 0 then
    insert into ichido_attempts (
      written_at, key, scope_hash, operation, at, took_us, outcome, observed, status, attempt, fence, number, count,
      spread_us, process, release, asked_by
    )
    select moment, n.key, n.scope_hash, n.operation, moment - n.ago_us * interval '1 microsecond', n.took_us, n.outcome,
      n.observed = 1, n.status, n.attempt, n.fence, n.number, n.count, n.spread_us, of_process, of_release, n.asker
    from unnest(
      keys, scope_hashes, operations, agos_us, tooks_us, outcomes, observed_flags, statuses, attempt_numbers, fences,
      numbers, counts, spreads_us, askers
    ) as n (
      key, scope_hash, operation, ago_us, took_us, outcome, observed, status, attempt, fence, number, count, spread_us,
      asker
    )
    where not exists (
      select from ichido_records r
      where r.key = n.key and r.scope_hash = n.scope_hash and r.response_kind = 'tombstone'
        and r.response_headers = forgotten_headers
    );
    delete from ichido_attempts a
    using (
      select distinct n.key, n.scope_hash, n.outcome = 'executed' as is_run
      from unnest(keys, scope_hashes, outcomes) as n (key, scope_hash, outcome)
    ) n
    where a.key = n.key and a.scope_hash = n.scope_hash and (a.outcome = 'executed') = n.is_run and a.place <= (
      select b.place from ichido_attempts b
      where b.key = n.key and b.scope_hash = n.scope_hash and (b.outcome = 'executed') = n.is_run
      order by b.place desc offset kept limit 1
    );
  end if;
  return query
  insert into ichido_log_pages as p (written_at, keep_until, process, intents, notes)
  values (moment, moment + keep_us * interval '1 microsecond', of_process, page_intents, page_notes)
  returning p.place, floor(extract(epoch from p.written_at) * 1000000)::bigint;
end

-- function: ichido_note_open(late_us bigint, most integer) with enable_seqscan=off, jit=off

declare
  now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  from_fence bigint;
  until_fence bigint := now_us - late_us;
  full_fence bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('ichido.open'), 'ichido_records'::regclass::oid::integer) then
    return;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  select u.fence into from_fence from ichido_open_until u where u.id = 1;
  -- A clock that went back further than that gives fences that pass for looked at: an hour is looked at again.
  if from_fence > until_fence + late_us then
    from_fence := until_fence - 3600 * 1000000::bigint;
  end if;
  from_fence := least(coalesce(from_fence, 0), until_fence - late_us);
  select r.fence into full_fence from ichido_records r where r.fence >= from_fence order by r.fence offset most limit 1;
  until_fence := least(until_fence, coalesce(full_fence, until_fence));
  insert into ichido_open_records (key, scope_hash)
  select r.key, r.scope_hash from ichido_records r
  where r.fence >= from_fence and r.fence < until_fence and r.state <> 'completed'
  on conflict do nothing;
  delete from ichido_open_records o where not exists (
    select from ichido_records r where r.key = o.key and r.scope_hash = o.scope_hash and r.state <> 'completed'
  );
  insert into ichido_open_until (id, fence) values (1, until_fence)
  on conflict (id) do update set fence = excluded.fence;
end

-- function: ichido_settle(of_key text, of_scope bytea, of_fence bigint, decision text, of_kind text, of_status integer, of_headers text, of_body bytea, of_actor text, of_reason text, channel text, unless_held boolean) with enable_seqscan=off

declare
  r ichido_records%rowtype;
  moment timestamptz;
begin
  select * into r from ichido_records s where s.key = of_key and s.scope_hash = of_scope for no key update;
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
  elsif r.lease_until > moment and r.lease_until <= moment + interval '120 s' then
    return 'live';
  end if;
  if decision = 'hold' then
    update ichido_records s
      set state = 'processing', lease_until = null, hold_reason = of_reason, updated_at = moment
      where s.key = of_key and s.scope_hash = of_scope;
  else
    if decision = 'release' and not unless_held then
      delete from ichido_steps s
        where s.key = of_key and s.scope_hash = of_scope and s.life = r.life and s.finished_at is null;
      if not exists (
        select from ichido_steps s where s.key = of_key and s.scope_hash = of_scope and s.life = r.life
      ) then
        r.steps_started := 0;
      end if;
    end if;
    update ichido_records s
      set state = case decision when 'adopt' then 'completed' else 'failed' end,
        owner = '00000000000000000000000000000000', fence = greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint),
        lease_until = null, hold_reason = null, steps_started = r.steps_started,
        response_kind = of_kind, response_status = of_status, response_headers = of_headers, response_body = of_body,
        updated_at = moment
      where s.key = of_key and s.scope_hash = of_scope;
  end if;
  insert into ichido_audit (key, scope_hash, fence, actor, action, reason, at)
    values (of_key, of_scope, of_fence, of_actor, decision, of_reason, moment);
  if r.watched then
    perform pg_notify(channel, encode(sha256(convert_to(of_key, 'UTF8') || of_scope), 'hex'));
  end if;
  return 'ok';
end

-- function: ichido_stats(pages_most integer) with jit=off

declare
  moment timestamptz := clock_timestamp();
  pages bigint := pg_relation_size('ichido_records'::regclass) / current_setting('block_size')::bigint;
  share double precision := 100;
begin
  select
    count(*) filter (where r.state = 'processing' and not o.unknown), count(*) filter (where r.state = 'failed'),
    count(*) filter (where r.state = 'processing' and o.unknown),
    coalesce(floor(extract(epoch from max(moment - r.created_at) filter (where r.state = 'processing' and o.unknown)) * 1000), 0)
  into processing, failed, unknown, oldest_unknown_ms
  from ichido_find_open() f
  join ichido_records r on r.key = f.open_key and r.scope_hash = f.open_scope
  cross join lateral (
    select r.hold_reason is not null or r.response_kind is not null or not coalesce(
      r.lease_until > moment and r.lease_until <= moment + interval '120 s', false
    ) as unknown
  ) o;
  if pages > pages_most then
    share := 100.0 * pages_most / pages;
    select count(*), coalesce(sum(octet_length(r.response_body)), 0) into completed, body_bytes
    from ichido_records r tablesample system (share) where r.state = 'completed';
  else
    select count(*) filter (where r.state = 'completed'), coalesce(sum(octet_length(r.response_body)), 0)
    into completed, body_bytes from ichido_records r;
  end if;
  completed := round(completed * 100 / share);
  body_bytes := round(body_bytes * 100 / share);
  estimated := (share < 100)::integer;
  select coalesce(floor(extract(epoch from moment - min(d.expires_at)) * 1000), 0) into sweep_lag_ms from (
    select r.expires_at from ichido_records r
    where r.expires_at <= moment and (r.state = 'completed' or (r.steps_started = 0 and (r.state = 'failed' or not (
      r.doubt_stays or r.hold_reason is not null or r.response_kind is not null or coalesce(
        r.lease_until > moment and r.lease_until <= moment + interval '120 s', false
      )
    ))))
    order by r.expires_at limit 1
  ) d;
  return next;
end

-- function: ichido_step(of_key text, of_scope bytea, of_owner uuid, of_fence bigint, of_name text, lease_ms bigint, of_result bytea, may_be_lost boolean) with enable_seqscan=off

declare
  moment timestamptz := clock_timestamp();
  held_life bigint;
  held_attempt integer;
begin
  if may_be_lost then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select r.life, r.attempts into held_life, held_attempt
  from ichido_records r
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
    and r.state = 'processing' and r.steps_started > 0
    and r.lease_until between moment + lease_ms * interval '0.5 ms' and moment + lease_ms * interval '2 ms'
  for share;
  if not found then
    update ichido_records r set
      lease_until = case when r.lease_until is not null then clock_timestamp() + lease_ms * interval '1 ms' end,
      steps_started = greatest(r.steps_started, 1),
      updated_at = clock_timestamp()
    where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
      and r.state = 'processing'
    returning r.life, r.attempts into held_life, held_attempt;
    if not found then
      return false;
    end if;
    delete from ichido_steps s where s.key = of_key and s.scope_hash = of_scope and s.life <> held_life;
  end if;
  if of_result is not null then
    update ichido_steps s set result = of_result, finished_at = moment
    where s.key = of_key and s.scope_hash = of_scope and s.life = held_life and s.name = of_name and s.finished_at is null;
    if found then
      return true;
    end if;
  end if;
  insert into ichido_steps as s (key, scope_hash, life, name, attempt, result, started_at, last_started_at, finished_at)
  values (
    of_key, of_scope, held_life, of_name, held_attempt, of_result, moment, moment,
    case when of_result is not null then moment end
  )
  on conflict (key, scope_hash, life, name) do update set last_started_at = excluded.last_started_at
  where s.finished_at is null;
  return true;
end

-- function: ichido_tell(held boolean, of_key text, of_scope bytea, told text, most integer) with enable_seqscan=off

declare
  known integer;
  held_life bigint;
begin
  if not held or told is null then
    return held;
  end if;
  select r.life into held_life from ichido_records r where r.key = of_key and r.scope_hash = of_scope;
  select count(*) into known from ichido_resources m
    where m.key = of_key and m.scope_hash = of_scope and m.life = held_life;
  insert into ichido_resources (kind, id, key, scope_hash, life, ordinal)
  select n.kind, n.id, of_key, of_scope, held_life, known + n.ordinal
  from (
    select t.pair ->> 0 as kind, t.pair ->> 1 as id, row_number() over (order by t.ordinal) as ordinal
    from jsonb_array_elements(told::jsonb) with ordinality as t (pair, ordinal)
    where not exists (
      select from ichido_resources m
      where m.kind = t.pair ->> 0 and m.id = t.pair ->> 1 and m.key = of_key and m.scope_hash = of_scope
        and m.life = held_life
    )
  ) n
  where known + n.ordinal <= most
  order by n.ordinal
  on conflict do nothing;
  return true;
end

