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
  -- Since when it waits for its replay.
  marked_ms bigint,
  unique (handler, id, print)
);

-- A consumer finds the letters that are to be replayed without reading the others.
create index {bare}inbox_dead_state on {prefix}inbox_dead (state, handler, place);

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind. Each is a row of its own, told
-- from others by its token: an attempt takes back its own and no other.
create table {prefix}inbox_starts (
  handler text collate "C" not null,
  id text collate "C" not null,
  token text collate "C" not null,
  at_ms bigint not null,
  primary key (handler, id, token)
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

create index {bare}inbox_audit_id on {prefix}inbox_audit (id);

-- Messages that failed and wait for their next attempt, and those of the same key behind them.
create table {prefix}inbox_parked (
  -- The order of a line.
  place bigint generated always as identity primary key,
  handler text collate "C" not null,
  id text collate "C" not null,
  print bytea not null,
  -- SHA-256 of the message's key; of its id where it has none.
  line bytea not null,
  -- Everything of the message but its payload, as JSON.
  envelope text not null,
  payload bytea not null,
  error text not null,
  attempts integer not null,
  since_ms bigint not null,
  -- From when on it may be taken up.
  due_ms bigint not null,
  unique (handler, id, print)
);

create index {bare}inbox_parked_line on {prefix}inbox_parked (handler, line, place);

-- The one row by which a sweep sees that the server's clock has jumped: when the last sweep was, and since when none has.
create table {prefix}inbox_clock (
  id smallint primary key,
  last_ms bigint not null,
  steady_ms bigint not null
);

insert into {prefix}inbox_clock (id, last_ms, steady_ms)
values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint, 0);

-- Takes a message for a handler, as the first write of the caller's transaction. A function, because its plans stay with
-- the session: the same as one statement costs more to plan than to run.
-- Returns 2 for the first; for a row that was there before, 1 for the same content, 0 for other; null where such a row
-- was there and is gone. Waits at most `wait_ms` for a transaction that takes the same message; then error 55P03. The lock
-- timeout is put back at the end: the handler's own statements wait as long as the session says.
create function {prefix}inbox_take(the_handler text, the_id text, the_print bytea, wait_ms text)
returns integer language plpgsql volatile as $take$
declare
  former text := current_setting('lock_timeout');
  found_print bytea;
begin
  perform set_config('lock_timeout', wait_ms, true);
  insert into {prefix}inbox (handler, id, print, dead, processed_ms)
  values (the_handler, the_id, the_print, 0, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (handler, id) do nothing;
  if found then
    perform set_config('lock_timeout', former, true);
    return 2;
  end if;
  perform set_config('lock_timeout', former, true);
  select print into found_print from {prefix}inbox where handler = the_handler and id = the_id;
  return case when found then case when found_print = the_print then 1 else 0 end end;
end
$take$;
