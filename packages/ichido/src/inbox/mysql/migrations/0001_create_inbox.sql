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
  primary key (place),
  unique key {prefix}inbox_dead_message (handler, id, print)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind.
create table if not exists {prefix}inbox_starts (
  handler varbinary(100) not null,
  id varbinary(255) not null,
  starts int not null,
  at_ms bigint not null,
  primary key (handler, id),
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
  primary key (place)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;
