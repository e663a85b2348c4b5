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
