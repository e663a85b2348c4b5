-- What handlers have processed, what they could not, and what people decided about it.
-- {prefix} is the schema and table prefix, {bare} the prefix alone (an index lives in the schema of its table).
-- Times are milliseconds since the epoch by the server's clock. Text keys use the "C" collation: byte for byte.

-- Rows are written once and die in masses, oldest first.
create table {prefix}inbox (
  handler text collate "C" not null,
  -- The message's id; a long one as its SHA-256.
  id text collate "C" not null,
  -- SHA-256 of topic, content type and payload.
  print bytea not null,
  -- 1: a dead letter, so that a redelivery is a duplicate.
  dead smallint not null,
  processed_ms bigint not null,
  primary key (handler, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);

create index {bare}inbox_processed on {prefix}inbox (processed_ms);

-- The same id with other content is a dead letter of its own.
create table {prefix}inbox_dead (
  place bigint generated always as identity primary key,
  handler text collate "C" not null,
  id text collate "C" not null,
  print bytea not null,
  topic text collate "C" not null,
  -- Everything of the message but its payload, as JSON.
  envelope text not null,
  payload bytea not null,
  reason text collate "C" not null,
  error text not null,
  attempts integer not null,
  since_ms bigint not null,
  state text collate "C" not null check (state in ('dead', 'replaying')),
  unique (handler, id, print)
);

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind.
create table {prefix}inbox_starts (
  handler text collate "C" not null,
  id text collate "C" not null,
  starts integer not null,
  at_ms bigint not null,
  primary key (handler, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

create table {prefix}inbox_audit (
  place bigint generated always as identity primary key,
  at_ms bigint not null,
  action text collate "C" not null,
  handler text collate "C" not null,
  id text collate "C" not null,
  topic text collate "C" not null,
  actor text not null,
  reason text not null
);
