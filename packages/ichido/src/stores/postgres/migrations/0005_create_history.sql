-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim, and nothing
-- decides by it.

-- The attempt log as it is followed: one row for every batch, its notes as bytes (`log-page.ts`). `intents`
-- are read alone by other processes: by them two keys with the same content are found.
create table {prefix}log_pages (
  place bigint generated always as identity primary key,
  written_at timestamptz not null,
  keep_until timestamptz not null,
  process text collate "C" not null,
  intents bytea not null,
  notes bytea not null
);

-- Hashes do not get smaller.
alter table {prefix}log_pages alter column intents set storage external, alter column notes set storage external;

create index {bare}log_pages_written on {prefix}log_pages (written_at, place);
create index {bare}log_pages_keep on {prefix}log_pages (keep_until);

-- What is found by its record and not told by it: answers without a run, later runs, what `askedBy` told. Equal answers of
-- one batch are one row. Without a foreign key: a note may come after its record went, and a sweep then finds it.
create table {prefix}attempts (
  place bigint generated always as identity,
  written_at timestamptz not null,
  key text collate "C" not null,
  scope_hash bytea not null,
  operation text collate "C" not null,
  at timestamptz not null,
  took_us bigint not null,
  outcome text collate "C" not null,
  observed boolean not null,
  status integer,
  attempt integer,
  fence bigint,
  number bigint not null,
  count bigint not null,
  spread_us bigint not null,
  process text collate "C" not null,
  release text collate "C",
  asked_by text
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

create index {bare}attempts_written on {prefix}attempts (written_at, place);
create index {bare}attempts_identity on {prefix}attempts (key, scope_hash);

-- Who makes which owner tokens: a record that was completed at its first attempt tells the rest by itself.
create table {prefix}processes (
  owners text collate "C" primary key,
  process text collate "C" not null,
  release text collate "C",
  seen_at timestamptz not null
) with (fillfactor = 50);

-- Pairs of keys that may stand for one intent.
create table {prefix}twins (
  place bigint generated always as identity,
  written_at timestamptz not null,
  scope_hash bytea not null,
  operation text collate "C" not null,
  first_key text collate "C" not null,
  second_key text collate "C" not null,
  apart_us bigint not null,
  primary key (first_key, scope_hash, second_key)
);

create index {bare}twins_written on {prefix}twins (written_at, place);
create index {bare}twins_second on {prefix}twins (second_key, scope_hash);

-- What operations made, by the user's own names. `life` as in steps: those of an expired life never show up in the next.
create table {prefix}resources (
  kind text collate "C" not null,
  id text collate "C" not null,
  key text collate "C" not null,
  scope_hash bytea not null,
  life bigint not null,
  ordinal integer not null,
  primary key (kind, id, key, scope_hash, life)
);

create index {bare}resources_identity on {prefix}resources (key, scope_hash);

-- One row, from the first sweep on: how far the sweeper has looked for notes whose record is gone.
create table {prefix}log_sweep (
  id smallint primary key check (id = 1),
  written_at timestamptz not null,
  place bigint not null
) with (fillfactor = 50);

-- Records that are not completed, as a person on call looks for them. An index on the state would take its place on the page
-- (HOT) from every completion. So they are noted here once a minute, beside the requests: all whose fence is below
-- `open_until`, and some that are completed since. What was claimed later is found by its fence, which no completion changes.
create table {prefix}open_records (
  key text collate "C" not null,
  scope_hash bytea not null,
  primary key (key, scope_hash)
) with (autovacuum_vacuum_scale_factor = 0.1);

create table {prefix}open_until (
  id smallint primary key check (id = 1),
  fence bigint not null
) with (fillfactor = 50);

create index {bare}records_fence on {prefix}records (fence);

-- Looks at what was claimed since the last time, at most so many records, and takes out what is completed or gone. A claim
-- that is under way may have an older fence than one that is seen: so the youngest are left to the next time. Where the
-- clock went back, what it gave out since is looked at again.
create function {prefix}note_open(late_us bigint, most integer)
returns void language plpgsql volatile set enable_seqscan = off set jit = off as $note_open$
declare
  now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  from_fence bigint;
  until_fence bigint := now_us - late_us;
  full_fence bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('ichido.open'), '{prefix}records'::regclass::oid::integer) then
    return;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  select u.fence into from_fence from {prefix}open_until u where u.id = 1;
  -- A clock that went back further than that gives fences that pass for looked at: an hour is looked at again.
  if from_fence > until_fence + late_us then
    from_fence := until_fence - 3600 * 1000000::bigint;
  end if;
  from_fence := least(coalesce(from_fence, 0), until_fence - late_us);
  select r.fence into full_fence from {prefix}records r where r.fence >= from_fence order by r.fence offset most limit 1;
  until_fence := least(until_fence, coalesce(full_fence, until_fence));
  insert into {prefix}open_records (key, scope_hash)
  select r.key, r.scope_hash from {prefix}records r
  where r.fence >= from_fence and r.fence < until_fence and r.state <> 'completed'
  on conflict do nothing;
  delete from {prefix}open_records o where not exists (
    select from {prefix}records r where r.key = o.key and r.scope_hash = o.scope_hash and r.state <> 'completed'
  );
  insert into {prefix}open_until (id, fence) values (1, until_fence)
  on conflict (id) do update set fence = excluded.fence;
end
$note_open$;

-- All records that are not completed, and some that are. Guarantee S17.
create function {prefix}find_open()
returns table (open_key text, open_scope bytea) language sql stable rows 1000 set enable_seqscan = off set jit = off as $find_open$
  select o.key, o.scope_hash from {prefix}open_records o
  union
  select r.key, r.scope_hash from {prefix}records r
  where r.state <> 'completed' and r.fence >= (
    -- What was claimed since the clock went back, until that is noted.
    select least(coalesce(max(u.fence), 0), (extract(epoch from clock_timestamp()) * 1000000)::bigint - 90 * 1000000::bigint)
    from {prefix}open_until u where u.id = 1
  )
$find_open$;

-- Sizes. What is not completed is counted one by one, the rest of a large table by a part of its pages. Guarantee S17.
create function {prefix}stats(pages_most integer) returns table (
  processing bigint, completed bigint, failed bigint, unknown bigint, body_bytes bigint, sweep_lag_ms bigint,
  oldest_unknown_ms bigint, estimated integer
) language plpgsql stable set jit = off as $stats$
declare
  moment timestamptz := clock_timestamp();
  pages bigint := pg_relation_size('{prefix}records'::regclass) / current_setting('block_size')::bigint;
  share double precision := 100;
begin
  select
    count(*) filter (where r.state = 'processing' and not o.unknown), count(*) filter (where r.state = 'failed'),
    count(*) filter (where r.state = 'processing' and o.unknown),
    coalesce(floor(extract(epoch from max(moment - r.created_at) filter (where r.state = 'processing' and o.unknown)) * 1000), 0)
  into processing, failed, unknown, oldest_unknown_ms
  from {prefix}find_open() f
  join {prefix}records r on r.key = f.open_key and r.scope_hash = f.open_scope
  cross join lateral (
    select r.hold_reason is not null or r.response_kind is not null or not coalesce(
      r.lease_until > moment and r.lease_until <= moment + interval '{leaseAbsurdSeconds} s', false
    ) as unknown
  ) o;
  if pages > pages_most then
    share := 100.0 * pages_most / pages;
    select count(*), coalesce(sum(octet_length(r.response_body)), 0) into completed, body_bytes
    from {prefix}records r tablesample system (share) where r.state = 'completed';
  else
    select count(*) filter (where r.state = 'completed'), coalesce(sum(octet_length(r.response_body)), 0)
    into completed, body_bytes from {prefix}records r;
  end if;
  completed := round(completed * 100 / share);
  body_bytes := round(body_bytes * 100 / share);
  estimated := (share < 100)::integer;
  select coalesce(floor(extract(epoch from moment - min(d.expires_at)) * 1000), 0) into sweep_lag_ms from (
    select r.expires_at from {prefix}records r
    where r.expires_at <= moment and (r.state = 'completed' or (r.steps_started = 0 and (r.state = 'failed' or not (
      r.doubt_stays or r.hold_reason is not null or r.response_kind is not null or coalesce(
        r.lease_until > moment and r.lease_until <= moment + interval '{leaseAbsurdSeconds} s', false
      )
    ))))
    order by r.expires_at limit 1
  ) d;
  return next;
end
$stats$;

-- Notes what an operation made, if the verb that told it took effect (`held`), and returns that.
-- `told` is a JSON array of [kind, id], or null. Guarantee S20: each once, in the order told, at most `most`.
create function {prefix}tell(held boolean, of_key text, of_scope bytea, told text, most integer)
returns boolean language plpgsql volatile set enable_seqscan = off as $tell$
declare
  known integer;
  held_life bigint;
begin
  if not held or told is null then
    return held;
  end if;
  select r.life into held_life from {prefix}records r where r.key = of_key and r.scope_hash = of_scope;
  select count(*) into known from {prefix}resources m
    where m.key = of_key and m.scope_hash = of_scope and m.life = held_life;
  insert into {prefix}resources (kind, id, key, scope_hash, life, ordinal)
  select n.kind, n.id, of_key, of_scope, held_life, known + n.ordinal
  from (
    select t.pair ->> 0 as kind, t.pair ->> 1 as id, row_number() over (order by t.ordinal) as ordinal
    from jsonb_array_elements(told::jsonb) with ordinality as t (pair, ordinal)
    where not exists (
      select from {prefix}resources m
      where m.kind = t.pair ->> 0 and m.id = t.pair ->> 1 and m.key = of_key and m.scope_hash = of_scope
        and m.life = held_life
    )
  ) n
  where known + n.ordinal <= most
  order by n.ordinal
  on conflict do nothing;
  return true;
end
$tell$;

-- Writes a page of the log, and those of its notes that are found by their record, one array element each. Returns where the
-- page lies. Guarantee S21. It is not waited for until it is on the disk: a crash of the server may cost the newest notes.
-- The lock keeps whoever forgets a record away, so that no note of it comes after that.
create function {prefix}log(
  of_process text, of_release text, of_owners text, keep_us bigint, page_intents bytea, page_notes bytea,
  keys text[], scope_hashes bytea[], operations text[], agos_us bigint[], tooks_us bigint[], outcomes text[],
  observed_flags integer[], statuses integer[], attempt_numbers integer[], fences bigint[], numbers bigint[],
  counts bigint[], spreads_us bigint[], askers text[], kept integer, forgotten_headers text
) returns table (page_place bigint, written_us bigint)
language plpgsql volatile set enable_seqscan = off set jit = off set lock_timeout = '2s' as $log$
declare
  moment timestamptz;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock_shared(hashtext('ichido.forget'), '{prefix}records'::regclass::oid::integer);
  moment := clock_timestamp();
  if of_owners is not null then
    insert into {prefix}processes as p (owners, process, release, seen_at)
    values (of_owners, of_process, of_release, moment)
    on conflict (owners) do update set seen_at = excluded.seen_at;
  end if;
  if cardinality(keys) > 0 then
    insert into {prefix}attempts (
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
      select from {prefix}records r
      where r.key = n.key and r.scope_hash = n.scope_hash and r.response_kind = 'tombstone'
        and r.response_headers = forgotten_headers
    );
    delete from {prefix}attempts a
    using (
      select distinct n.key, n.scope_hash, n.outcome = 'executed' as is_run
      from unnest(keys, scope_hashes, outcomes) as n (key, scope_hash, outcome)
    ) n
    where a.key = n.key and a.scope_hash = n.scope_hash and (a.outcome = 'executed') = n.is_run and a.place <= (
      select b.place from {prefix}attempts b
      where b.key = n.key and b.scope_hash = n.scope_hash and (b.outcome = 'executed') = n.is_run
      order by b.place desc offset kept limit 1
    );
  end if;
  return query
  insert into {prefix}log_pages as p (written_at, keep_until, process, intents, notes)
  values (moment, moment + keep_us * interval '1 microsecond', of_process, page_intents, page_notes)
  returning p.place, floor(extract(epoch from p.written_at) * 1000000)::bigint;
end
$log$;

-- Notes a pair, unless it is noted or one of the two is forgotten. Returns whether it is new. Guarantees S22, S24.
create function {prefix}add_twin(
  of_scope bytea, of_operation text, of_first text, of_second text, apart bigint, forgotten_headers text
) returns boolean language plpgsql volatile set enable_seqscan = off set lock_timeout = '2s' as $add_twin$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock_shared(hashtext('ichido.forget'), '{prefix}records'::regclass::oid::integer);
  insert into {prefix}twins (written_at, scope_hash, operation, first_key, second_key, apart_us)
  select clock_timestamp(), of_scope, of_operation, of_first, of_second, apart
  where not exists (
    select from {prefix}records r
    where r.key in (of_first, of_second) and r.scope_hash = of_scope and r.response_kind = 'tombstone'
      and r.response_headers = forgotten_headers
  )
  on conflict do nothing;
  return found;
end
$add_twin$;

-- Erases what a record holds and leaves a tombstone, with its audit row. Returns the verdict. Guarantee S24.
-- Nobody's owner and a greater fence, as in `settle`: whoever held the record can no longer write to it.
create function {prefix}forget(
  of_key text, of_scope bytea, of_fence bigint, of_actor text, of_reason text, of_action text, of_headers text,
  of_status integer
) returns text language plpgsql volatile set enable_seqscan = off set lock_timeout = '2s' as $forget$
declare
  r {prefix}records%rowtype;
  moment timestamptz;
begin
  begin
    select * into r from {prefix}records s where s.key = of_key and s.scope_hash = of_scope for no key update;
  exception when lock_not_available then
    -- Somebody's transaction is at work on it.
    return 'live';
  end;
  if r.key is null then
    return 'absent';
  end if;
  -- Whoever writes the log ends first, or sees the tombstone. Only now: who waits for a record must keep nobody waiting.
  perform pg_advisory_xact_lock(hashtext('ichido.forget'), '{prefix}records'::regclass::oid::integer);
  moment := clock_timestamp();
  if r.state = 'processing' then
    return case
      when r.hold_reason is null and r.response_kind is null and coalesce(
        r.lease_until > moment and r.lease_until <= moment + interval '{leaseAbsurdSeconds} s', false
      ) then 'live' else 'unknown' end;
  elsif r.response_kind = 'tombstone' and r.response_headers = of_headers then
    return 'forgotten';
  elsif r.fence <> of_fence then
    return 'stale';
  end if;
  delete from {prefix}steps s where s.key = of_key and s.scope_hash = of_scope;
  delete from {prefix}resources m where m.key = of_key and m.scope_hash = of_scope;
  delete from {prefix}attempts a where a.key = of_key and a.scope_hash = of_scope;
  delete from {prefix}twins t where t.first_key = of_key and t.scope_hash = of_scope;
  delete from {prefix}twins t where t.second_key = of_key and t.scope_hash = of_scope;
  update {prefix}audit a set reason = '' where a.key = of_key and a.scope_hash = of_scope;
  update {prefix}records s
    set state = 'completed', owner = '{nobody}',
      fence = greatest(r.fence + 1, (extract(epoch from moment) * 1000000)::bigint),
      principal = null, labels = null, lease_until = null, hold_reason = null, steps_started = 0,
      response_kind = 'tombstone', response_status = coalesce(r.response_status, of_status),
      response_headers = of_headers, response_body = '', updated_at = moment
    where s.key = of_key and s.scope_hash = of_scope;
  insert into {prefix}audit (key, scope_hash, fence, actor, action, reason, at)
    values (of_key, of_scope, of_fence, of_actor, of_action, of_reason, moment);
  return 'ok';
end
$forget$;

-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
create table {prefix}engines (
  engine text collate "C" primary key,
  note text not null,
  noted_at timestamptz not null
) with (fillfactor = 50);
