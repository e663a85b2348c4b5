-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim.

-- The attempt log as it is followed: one row for every batch, its notes as bytes (`log-page.ts`). `place` orders
-- the writes: microseconds by the clock, or one more than the last. `intents` come before the notes, so that other
-- processes read them alone: by them two keys with the same content are found.
CREATE TABLE ichido_log_pages (
  place    INTEGER PRIMARY KEY,
  process  TEXT    NOT NULL,
  keep_us  INTEGER NOT NULL,
  intents  BLOB    NOT NULL,
  notes    BLOB    NOT NULL
) STRICT;

CREATE INDEX ichido_log_pages_keep ON ichido_log_pages (keep_us);

-- What is found by its record and not told by it: answers without a run, later runs, what `askedBy` told. Equal answers of
-- one batch are one row. Without a foreign key: a note may come after its record went, and a sweep then finds it.
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

CREATE INDEX ichido_attempts_identity ON ichido_attempts (key, scope_hash);

-- Who makes which owner tokens: a record that was completed at its first attempt tells the rest by itself.
CREATE TABLE ichido_processes (
  owners  TEXT    PRIMARY KEY,
  process TEXT    NOT NULL,
  release TEXT,
  seen_us INTEGER NOT NULL
) STRICT;

-- Pairs of keys that may stand for one intent. `place` as above.
CREATE TABLE ichido_twins (
  place      INTEGER PRIMARY KEY,
  scope_hash BLOB    NOT NULL,
  operation  TEXT    NOT NULL,
  first_key  TEXT    NOT NULL,
  second_key TEXT    NOT NULL,
  apart_us   INTEGER NOT NULL,
  UNIQUE (first_key, scope_hash, second_key)
) STRICT;

CREATE INDEX ichido_twins_second ON ichido_twins (second_key, scope_hash);

-- What operations made, by the user's own names.
CREATE TABLE ichido_resources (
  kind       TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  scope_hash BLOB    NOT NULL,
  ordinal    INTEGER NOT NULL,
  PRIMARY KEY (kind, id, key, scope_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX ichido_resources_identity ON ichido_resources (key, scope_hash, ordinal);

-- How far the sweeper has looked for notes whose record is gone.
CREATE TABLE ichido_log_sweep (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  place INTEGER NOT NULL
) STRICT;

INSERT INTO ichido_log_sweep (id, place) VALUES (1, 0);

-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
CREATE TABLE ichido_engines (
  engine   TEXT    PRIMARY KEY,
  note     TEXT    NOT NULL,
  noted_us INTEGER NOT NULL
) STRICT;
