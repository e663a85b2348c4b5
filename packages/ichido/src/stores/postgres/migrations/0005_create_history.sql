-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim, and nothing
-- decides by it.

-- The attempt log: who asked, when, what they got, by which process and release. `intent` is there for the first run of a
-- key alone: the head of its canonical hash, by which another key with the same content is found. Without a foreign key:
-- a note may come after its record went, and a sweep then finds it.
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
  process text collate "C" not null,
  release text collate "C",
  asked_by text,
  intent bigint
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

create index {bare}attempts_written on {prefix}attempts (written_at, place);
create index {bare}attempts_identity on {prefix}attempts (key, scope_hash);
create index {bare}attempts_intent on {prefix}attempts (intent, scope_hash, at) where intent is not null;

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

-- Writes a batch of attempts, one array element each, and returns the pairs that it shows. Guarantees S21, S22.
-- It is not waited for until it is on the disk: a crash of the server may cost the newest notes.
create function {prefix}log(
  keys text[], scope_hashes bytea[], operations text[], agos_us bigint[], tooks_us bigint[], outcomes text[],
  observed_flags integer[], statuses integer[], attempt_numbers integer[], fences bigint[], numbers bigint[],
  askers text[], intents bigint[], of_process text, of_release text, within_us bigint, kept integer, pairs_max integer
) returns table (in_scope bytea, of_operation text, of_first text, of_second text, apart bigint, noted_ms bigint)
language plpgsql volatile set enable_seqscan = off set jit = off as $log$
declare
  moment timestamptz := clock_timestamp();
  first_place bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  with written as (
    insert into {prefix}attempts (
      written_at, key, scope_hash, operation, at, took_us, outcome, observed, status, attempt, fence, number,
      process, release, asked_by, intent
    )
    select moment, n.key, n.scope_hash, n.operation, moment - n.ago_us * interval '1 microsecond', n.took_us, n.outcome,
      n.observed = 1, n.status, n.attempt, n.fence, n.number, of_process, of_release, n.asker, n.intent
    from unnest(
      keys, scope_hashes, operations, agos_us, tooks_us, outcomes, observed_flags, statuses, attempt_numbers, fences,
      numbers, askers, intents
    ) as n (
      key, scope_hash, operation, ago_us, took_us, outcome, observed, status, attempt, fence, number, asker, intent
    )
    returning place
  )
  select min(w.place) into first_place from written w;
  -- A first run cannot be past the bound of its record.
  delete from {prefix}attempts a
  using (
    select distinct n.key, n.scope_hash, n.outcome = 'executed' as is_run
    from unnest(keys, scope_hashes, outcomes, intents) as n (key, scope_hash, outcome, intent)
    where n.intent is null
  ) n
  where a.key = n.key and a.scope_hash = n.scope_hash and (a.outcome = 'executed') = n.is_run and a.place <= (
    select b.place from {prefix}attempts b
    where b.key = n.key and b.scope_hash = n.scope_hash and (b.outcome = 'executed') = n.is_run
    order by b.place desc offset kept limit 1
  );
  if within_us = 0 then
    return;
  end if;
  return query
  insert into {prefix}twins as t (written_at, scope_hash, operation, first_key, second_key, apart_us)
  select moment, p.scope_hash, p.operation, p.first_key, p.second_key, min(p.apart_us)
  from (
    select a.scope_hash, a.operation,
      case when b.at <= a.at then b.key else a.key end as first_key,
      case when b.at <= a.at then a.key else b.key end as second_key,
      abs(extract(epoch from a.at - b.at) * 1000000)::bigint as apart_us
    from {prefix}attempts a
    cross join lateral (
      select c.key, c.at from {prefix}attempts c
      where c.intent = a.intent and c.scope_hash = a.scope_hash and c.key <> a.key and c.place < a.place
        and c.at between a.at - within_us * interval '1 microsecond' and a.at + within_us * interval '1 microsecond'
      order by c.at desc
      limit 1
    ) b
    where a.written_at = moment and a.place >= first_place and a.intent is not null
    limit pairs_max
  ) p
  group by p.scope_hash, p.operation, p.first_key, p.second_key
  on conflict do nothing
  returning t.scope_hash, t.operation, t.first_key, t.second_key, t.apart_us,
    floor(extract(epoch from t.written_at) * 1000)::bigint;
end
$log$;

-- Erases what a record holds and leaves a tombstone, with its audit row. Returns the verdict. Guarantee S24.
-- Nobody's owner and a greater fence, as in `settle`: whoever held the record can no longer write to it.
create function {prefix}forget(
  of_key text, of_scope bytea, of_fence bigint, of_actor text, of_reason text, of_action text, of_headers text,
  of_status integer
) returns text language plpgsql volatile set enable_seqscan = off as $forget$
declare
  r {prefix}records%rowtype;
  moment timestamptz;
begin
  select * into r from {prefix}records s where s.key = of_key and s.scope_hash = of_scope for no key update;
  if not found then
    return 'absent';
  end if;
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
