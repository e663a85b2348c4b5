-- What a record knows beside its answer, for the person on call. None of it is read or written by a claim.

-- Never written before: the columns of the log were not known yet.
DROP TABLE ichido_attempts;

-- The attempt log: who asked, when, what they got, by which process and release. `place` orders the writes: microseconds
-- by the clock, or one more than the last. `intent` is there for the first run of a key alone: the head of its canonical
-- hash, by which another key with the same content is found. Without a foreign key: a note may come after its record went, and a sweep then finds it.
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
  process    TEXT    NOT NULL,
  release    TEXT,
  asked_by   TEXT,
  intent     INTEGER
) STRICT;

CREATE INDEX ichido_attempts_identity ON ichido_attempts (key, scope_hash);
CREATE INDEX ichido_attempts_intent ON ichido_attempts (intent, scope_hash, at_us) WHERE intent IS NOT NULL;

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
