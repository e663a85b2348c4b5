-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim, and nothing
-- decides by it. Each statement may be run again, as in the first migration.

-- The attempt log as it is followed: one row for every batch, its notes as bytes (`log-page.ts`). `intents`
-- are read alone by other processes: by them two keys with the same content are found.
create table if not exists {prefix}log_pages (
  id bigint not null auto_increment,
  written_us bigint not null,
  keep_us bigint not null,
  process varbinary(1020) not null,
  intents mediumblob not null,
  notes mediumblob not null,
  primary key (id),
  key {prefix}log_pages_written (written_us),
  key {prefix}log_pages_keep (keep_us)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- What is found by its record and not told by it: answers without a run, later runs, what `askedBy` told. Equal answers of
-- one batch are one row. Without a foreign key: a note may come after its record went, and a sweep then finds it.
create table if not exists {prefix}attempts (
  id bigint not null auto_increment,
  written_us bigint not null,
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  operation varbinary(1020) not null,
  at_us bigint not null,
  took_us bigint not null,
  outcome varchar(32) character set ascii collate ascii_bin not null,
  observed tinyint not null,
  status smallint,
  attempt int,
  fence bigint,
  number bigint not null,
  attempts_told bigint not null,
  spread_us bigint not null,
  process varbinary(1020) not null,
  release_name varbinary(1020),
  asked_by varbinary(1020),
  primary key (id),
  key {prefix}attempts_written (written_us),
  key {prefix}attempts_identity (`key`, scope_hash, outcome)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Who makes which owner tokens: a record that was completed at its first attempt tells the rest by itself.
create table if not exists {prefix}processes (
  owners varbinary(64) not null,
  process varbinary(1020) not null,
  release_name varbinary(1020),
  seen_us bigint not null,
  primary key (owners)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Pairs of keys that may stand for one intent.
create table if not exists {prefix}twins (
  id bigint not null auto_increment,
  written_us bigint not null,
  scope_hash binary(32) not null,
  operation varbinary(1020) not null,
  first_key varbinary(1020) not null,
  second_key varbinary(1020) not null,
  apart_us bigint not null,
  primary key (id),
  unique key {prefix}twins_first (first_key, scope_hash, second_key),
  key {prefix}twins_second (second_key, scope_hash),
  key {prefix}twins_written (written_us)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- What operations made, by the user's own names. `life` as in steps: those of an expired life never show up in the next.
create table if not exists {prefix}resources (
  kind varbinary(256) not null,
  id varbinary(1020) not null,
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  life bigint not null,
  ordinal int not null,
  primary key (kind, id, `key`, scope_hash, life),
  key {prefix}resources_identity (`key`, scope_hash)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- One row, from the first sweep on: how far the sweeper has looked for notes whose record is gone.
create table if not exists {prefix}log_sweep (
  id tinyint not null,
  written_us bigint not null,
  place bigint not null,
  primary key (id),
  constraint {prefix}log_sweep_one check (id = 1)
) engine = InnoDB default character set ascii collate ascii_bin;

-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
create table if not exists {prefix}engines (
  engine varbinary(64) not null,
  note mediumblob not null,
  noted_us bigint not null,
  primary key (engine)
) engine = InnoDB default character set ascii collate ascii_bin;
