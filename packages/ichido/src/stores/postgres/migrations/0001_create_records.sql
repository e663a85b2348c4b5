-- Everything a record needs, its steps, its audit trail and the tick row, so that later parts need no rebuild.
-- {prefix} is the schema and table prefix, {bare} the prefix alone (an index lives in the schema of its table).

-- Text keys use the "C" collation: compared byte for byte, and not reordered by an upgrade of the system's locales.
-- Nothing that renew, complete or release change is indexed, so their updates stay on the page (HOT) while there is room:
-- a record is born small and grows by its answer, in a crowd many on one page at once. Records live briefly and die in
-- masses: vacuum comes early and does not dawdle.
-- Without check constraints: the server reads and plans them anew with every statement that writes, which costs about as
-- much as the write itself. Only the statements beside these files write here, and the store suite holds them to the rules.
create table {prefix}records (
  key text collate "C" not null,
  scope_hash bytea not null,
  tenant text collate "C",
  principal text collate "C",
  operation text collate "C" not null,
  fingerprint_version integer not null,
  fingerprint_raw bytea not null,
  fingerprint_canonical bytea not null,
  -- By the former version, for processes that do not know the new one yet.
  fingerprint_former bytea,
  state text collate "C" not null,
  -- How the present owner came by the record. Stays when its claim is sent again.
  origin text collate "C" not null,
  owner uuid not null,
  fence bigint not null,
  -- The fence at first sight. Steps carry it: those of an expired life never show up in the next one.
  life bigint not null,
  attempts integer not null,
  -- Null once ended: nobody renews it back to life.
  lease_until timestamptz,
  steps_started integer not null default 0,
  hold_reason text,
  -- The final answer when completed; the interim one while processing, where with a hold reason it means doubt.
  response_kind text collate "C",
  response_status integer,
  response_headers text,
  response_body bytea,
  labels jsonb,
  -- Somebody waits for a change and wants to be notified.
  watched boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  -- While it is set a record in `processing` does not expire: what its owner did must be found out first.
  doubt_stays boolean not null default true,
  primary key (key, scope_hash)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 1
);

create index {bare}records_expires_at on {prefix}records (expires_at);
create index {bare}records_labels on {prefix}records using gin (labels jsonb_path_ops) where labels is not null;

create table {prefix}steps (
  key text collate "C" not null,
  scope_hash bytea not null,
  life bigint not null,
  name text collate "C" not null,
  place bigint generated always as identity,
  attempt integer not null,
  result bytea,
  started_at timestamptz not null,
  finished_at timestamptz,
  -- A call that was lost may be under way since then.
  last_started_at timestamptz,
  primary key (key, scope_hash, life, name)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);

-- What people decided. It outlives the record.
create table {prefix}audit (
  place bigint generated always as identity primary key,
  key text collate "C" not null,
  scope_hash bytea not null,
  fence bigint not null,
  actor text not null,
  action text collate "C" not null,
  reason text not null,
  at timestamptz not null
);

create index {bare}audit_identity on {prefix}audit (key, scope_hash, place);

-- One row: when this server's clock was last seen, and since when it has run evenly.
create table {prefix}clock (
  id smallint primary key check (id = 1),
  last_at timestamptz not null,
  interval_ms bigint not null,
  steady_since timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50);
