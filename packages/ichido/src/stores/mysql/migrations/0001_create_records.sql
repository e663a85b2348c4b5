-- Everything ichido keeps of its keys, so that later parts need no rebuild. {prefix} begins every table's name.
-- DDL commits by itself on MySQL and MariaDB: each statement may be run again after a migration that died half-way.
-- Times are microseconds since the epoch in UTC, by the server's clock, whatever the time zone of the session.
-- Text is kept as UTF-8 bytes: compared byte for byte, trailing spaces included, in any character set of the session.

-- The natural primary key is the only unique one: InnoDB then locks one row for a claim and nothing around it.
create table if not exists {prefix}records (
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  tenant varbinary(1020),
  principal varbinary(1020),
  operation varbinary(1020) not null,
  fingerprint_version int not null,
  fingerprint_raw varbinary(32) not null,
  fingerprint_canonical varbinary(32) not null,
  fingerprint_former varbinary(32),
  state varchar(10) character set ascii collate ascii_bin not null,
  owner varbinary(32) not null,
  fence bigint not null,
  -- The fence at first sight. Steps carry it: those of an expired life never show up in the next one.
  life bigint not null,
  attempts int not null,
  -- Zero once ended.
  lease_us bigint not null,
  -- How often a step was started; the steps themselves say how many there are.
  step_starts int not null default 0,
  hold_reason blob,
  -- The final answer when completed; the interim one while processing.
  response_kind varchar(9) character set ascii collate ascii_bin,
  response_status smallint,
  response_bytes bigint not null default 0,
  response_headers mediumblob,
  response_body longblob,
  labels blob,
  created_us bigint not null,
  updated_us bigint not null,
  expires_us bigint not null,
  -- The expiry where time alone may remove the record; null under a started step, an interim answer, a hold or a doubt that
  -- stays, so that records which stay do not pile up at the head of every sweep.
  sweep_us bigint,
  -- How the present owner came by the record: a claim that is sent again after a lost reply is told the same.
  origin varchar(9) character set ascii collate ascii_bin not null default 'lapsed',
  -- While it is set a record in `processing` does not expire: what its owner did must be found out first.
  doubt_stays tinyint not null default 1,
  -- The fence that a person's release gave the record. A step that was last started under an earlier one and has no result
  -- did not happen: it is as if it were only proposed. A mark on the record, because one statement cannot change a record
  -- and all of its steps, each of them once.
  released_fence bigint not null default 0,
  primary key (`key`, scope_hash),
  key {prefix}records_sweep (sweep_us),
  -- For the person on call, who looks for the few records that are open, and for stats, which need not read the rows.
  key {prefix}records_state (state, `key`, scope_hash, response_bytes),
  constraint {prefix}records_state check (state in ('processing', 'completed', 'failed')),
  constraint {prefix}records_kind check (response_kind in ('full', 'tombstone')),
  constraint {prefix}records_answer check (state <> 'completed' or response_status is not null)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- Completed records by label: a SHA-256 of name and value. Open records are few and are looked through themselves, so a
-- process that dies between the claim and this row hides nothing.
create table if not exists {prefix}labels (
  label_hash binary(32) not null,
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  primary key (label_hash, `key`, scope_hash)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- A row without a start is a proposal that nobody sees; the start itself is one atomic update of record and step.
create table if not exists {prefix}steps (
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  life bigint not null,
  name varbinary(1020) not null,
  place int,
  attempt int,
  started_us bigint,
  finished_us bigint,
  result longblob,
  -- Beside its first start: a call that was lost may be under way since then.
  last_started_us bigint,
  -- The fence under which it was last started.
  start_fence bigint not null default 0,
  primary key (`key`, scope_hash, life, name)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- A person's decisions. They outlive the record they were made on. A row without a time is a proposal that nobody sees.
create table if not exists {prefix}audit (
  id bigint not null auto_increment,
  `key` varbinary(1020) not null,
  scope_hash binary(32) not null,
  fence bigint not null,
  actor varbinary(1020) not null,
  action varchar(16) character set ascii collate ascii_bin not null,
  reason blob not null,
  at_us bigint,
  primary key (id),
  key {prefix}audit_identity (`key`, scope_hash, id)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

-- The one tick row: when the clock was last seen, how often it is seen, and since when it has run evenly.
create table if not exists {prefix}clock (
  id tinyint not null,
  last_us bigint not null,
  interval_us bigint not null,
  steady_since_us bigint not null,
  primary key (id),
  constraint {prefix}clock_one check (id = 1)
) engine = InnoDB default character set ascii collate ascii_bin;
