-- What handlers have processed, what they could not, and what people decided about it. {prefix} begins every table's name.
-- DDL commits by itself on MySQL and MariaDB: each statement may be run again after a migration that died half-way.
-- Times are milliseconds since the epoch by the server's clock. Text is kept as UTF-8 bytes: compared byte for byte,
-- trailing spaces included, in any character set of the session.

-- No unique key but the primary one: error 1062 means one thing.
create table if not exists {prefix}inbox (
  handler varbinary(100) not null,
  -- The message's id; a long one as its SHA-256.
  id varbinary(255) not null,
  -- SHA-256 of topic, content type and payload.
  print binary(32) not null,
  -- 1: a dead letter, so that a redelivery is a duplicate.
  dead tinyint not null,
  processed_ms bigint not null,
  primary key (handler, id),
  key {prefix}inbox_processed (processed_ms)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- The same id with other content is a dead letter of its own.
create table if not exists {prefix}inbox_dead (
  place bigint not null auto_increment,
  handler varbinary(100) not null,
  id varbinary(255) not null,
  print binary(32) not null,
  topic varbinary(200) not null,
  -- Everything of the message but its payload, as JSON.
  envelope mediumblob not null,
  payload longblob not null,
  reason varchar(16) character set ascii collate ascii_bin not null,
  error mediumblob not null,
  attempts int not null,
  since_ms bigint not null,
  state varchar(16) character set ascii collate ascii_bin not null,
  -- Since when it waits for its replay.
  marked_ms bigint,
  primary key (place),
  unique key {prefix}inbox_dead_message (handler, id, print),
  -- A consumer finds the letters that are to be replayed without reading the others.
  key {prefix}inbox_dead_state (state, handler, place)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind. Each is a row of its own, told
-- from others by its token: an attempt takes back its own and no other.
create table if not exists {prefix}inbox_starts (
  handler varbinary(100) not null,
  id varbinary(255) not null,
  token varbinary(36) not null,
  at_ms bigint not null,
  primary key (handler, id, token),
  key {prefix}inbox_starts_at (at_ms)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

create table if not exists {prefix}inbox_audit (
  place bigint not null auto_increment,
  at_ms bigint not null,
  action varchar(16) character set ascii collate ascii_bin not null,
  handler varbinary(100) not null,
  id varbinary(255) not null,
  topic varbinary(200) not null,
  actor blob not null,
  reason blob not null,
  primary key (place),
  key {prefix}inbox_audit_id (id)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Messages that failed and wait for their next attempt, and those of the same key behind them.
create table if not exists {prefix}inbox_parked (
  -- The order of a line.
  place bigint not null auto_increment,
  handler varbinary(100) not null,
  id varbinary(255) not null,
  print binary(32) not null,
  -- SHA-256 of the message's key; of its id where it has none.
  line binary(32) not null,
  -- Everything of the message but its payload, as JSON.
  envelope mediumblob not null,
  payload longblob not null,
  error mediumblob not null,
  attempts int not null,
  since_ms bigint not null,
  -- From when on it may be taken up.
  due_ms bigint not null,
  primary key (place),
  unique key {prefix}inbox_parked_message (handler, id, print),
  key {prefix}inbox_parked_line (handler, line, place)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- The one row by which a sweep sees that the server's clock has jumped: when the last sweep was, and since when none has.
create table if not exists {prefix}inbox_clock (
  id tinyint not null,
  last_ms bigint not null,
  steady_ms bigint not null,
  primary key (id)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

insert into {prefix}inbox_clock (id, last_ms, steady_ms)
values (1, timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000, 0)
on duplicate key update id = id;
