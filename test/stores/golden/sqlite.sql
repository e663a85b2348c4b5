CREATE TABLE ichido_attempts (
  place      INTEGER PRIMARY KEY,
  key        TEXT    NOT NULL,
  scope_hash BLOB    NOT NULL,
  operation  TEXT    NOT NULL,
  at_us      INTEGER NOT NULL,
  took_us    INTEGER NOT NULL,
  outcome    TEXT    NOT NULL,
  observed   INTEGER NOT NULL,
  status     INTEGER,
  attempt    INTEGER,
  fence      INTEGER,
  number     INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  last_us    INTEGER NOT NULL,
  process    TEXT    NOT NULL,
  release    TEXT,
  asked_by   TEXT
) STRICT;

CREATE TABLE ichido_audit (
  id         INTEGER PRIMARY KEY,
  key        TEXT    NOT NULL,
  scope_hash BLOB    NOT NULL,
  at_us      INTEGER NOT NULL,
  actor      TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  fence      INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_clock (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  last_us         INTEGER NOT NULL,
  interval_us     INTEGER NOT NULL,
  steady_since_us INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_engines (
  engine   TEXT    PRIMARY KEY,
  note     TEXT    NOT NULL,
  noted_us INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_fence (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  floor INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_labels (
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  key        TEXT NOT NULL,
  scope_hash BLOB NOT NULL,
  PRIMARY KEY (name, value, key, scope_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE ichido_log_pages (
  place    INTEGER PRIMARY KEY,
  process  TEXT    NOT NULL,
  keep_us  INTEGER NOT NULL,
  intents  BLOB    NOT NULL,
  notes    BLOB    NOT NULL
) STRICT;

CREATE TABLE ichido_log_sweep (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  place INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_migrations (
  part       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  checksum   TEXT    NOT NULL,
  applied_us INTEGER NOT NULL,
  PRIMARY KEY (part, version)
) STRICT;

CREATE TABLE ichido_processes (
  owners  TEXT    PRIMARY KEY,
  process TEXT    NOT NULL,
  release TEXT,
  seen_us INTEGER NOT NULL
) STRICT;

CREATE TABLE ichido_records (
  key                   TEXT    NOT NULL,
  scope_hash            BLOB    NOT NULL CHECK (length(scope_hash) = 32),
  tenant                TEXT,
  principal             TEXT,
  operation             TEXT    NOT NULL,
  fingerprint_version   INTEGER NOT NULL,
  fingerprint_raw       BLOB    NOT NULL,
  fingerprint_canonical BLOB    NOT NULL,
  fingerprint_former    BLOB,
  state                 TEXT    NOT NULL CHECK (state IN ('processing', 'completed', 'failed')),
  owner                 TEXT    NOT NULL,
  fence                 INTEGER NOT NULL,
  attempts              INTEGER NOT NULL,
  lease_us              INTEGER NOT NULL,
  steps_started         INTEGER NOT NULL DEFAULT 0,
  hold_reason           TEXT,
  labels                TEXT,
  created_us            INTEGER NOT NULL,
  updated_us            INTEGER NOT NULL,
  expires_us            INTEGER NOT NULL,
  origin                TEXT    NOT NULL DEFAULT 'lapsed' CHECK (origin IN ('new', 'failed', 'lapsed', 'suspended')),
  doubt_stays           INTEGER NOT NULL DEFAULT 1,
  interim_kind          TEXT CHECK (interim_kind IN ('full', 'tombstone')),
  interim_status        INTEGER,
  interim_headers       TEXT,
  response_kind         TEXT CHECK (response_kind IN ('full', 'tombstone')),
  response_status       INTEGER,
  response_headers      TEXT,
  interim_body          BLOB,
  response_body         BLOB,
  PRIMARY KEY (key, scope_hash),
  CHECK ((state = 'completed') = (response_status IS NOT NULL))
) STRICT;

CREATE TABLE ichido_resources (
  kind       TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  scope_hash BLOB    NOT NULL,
  ordinal    INTEGER NOT NULL,
  PRIMARY KEY (kind, id, key, scope_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE ichido_steps (
  key             TEXT    NOT NULL,
  scope_hash      BLOB    NOT NULL,
  name            TEXT    NOT NULL,
  ordinal         INTEGER NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('started', 'finished')),
  attempt         INTEGER NOT NULL,
  started_us      INTEGER NOT NULL,
  last_started_us INTEGER,
  finished_us     INTEGER,
  result          BLOB,
  PRIMARY KEY (key, scope_hash, name)
) STRICT;

CREATE TABLE ichido_twins (
  place      INTEGER PRIMARY KEY,
  scope_hash BLOB    NOT NULL,
  operation  TEXT    NOT NULL,
  first_key  TEXT    NOT NULL,
  second_key TEXT    NOT NULL,
  apart_us   INTEGER NOT NULL,
  UNIQUE (first_key, scope_hash, second_key)
) STRICT;

CREATE INDEX ichido_attempts_identity ON ichido_attempts (key, scope_hash);

CREATE INDEX ichido_audit_identity ON ichido_audit (key, scope_hash, id);

CREATE INDEX ichido_log_pages_keep ON ichido_log_pages (keep_us);

CREATE INDEX ichido_records_expires ON ichido_records (expires_us)
  WHERE state = 'completed'
    OR (steps_started = 0 AND interim_status IS NULL AND hold_reason IS NULL AND (state = 'failed' OR doubt_stays = 0));

CREATE INDEX ichido_records_open ON ichido_records (state, key, scope_hash) WHERE state <> 'completed';

CREATE INDEX ichido_records_spent ON ichido_records (expires_us) WHERE state = 'failed' AND steps_started > 0;

CREATE INDEX ichido_resources_identity ON ichido_resources (key, scope_hash, ordinal);

CREATE INDEX ichido_twins_second ON ichido_twins (second_key, scope_hash);
