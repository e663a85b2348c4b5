-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim, and nothing
-- decides by it. Each statement may be run again, as in the first migration.

-- The attempt log: who asked, when, what they got, by which process and release. `intent` is there for the first run of a
-- key alone: the head of its canonical hash, by which another key with the same content is found. Without a foreign key:
-- a note may come after its record went, and a sweep then finds it.
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
  process varbinary(1020) not null,
  release_name varbinary(1020),
  asked_by varbinary(1020),
  intent bigint,
  primary key (id),
  key {prefix}attempts_written (written_us),
  key {prefix}attempts_identity (`key`, scope_hash, outcome),
  key {prefix}attempts_intent (intent, scope_hash, at_us)
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
