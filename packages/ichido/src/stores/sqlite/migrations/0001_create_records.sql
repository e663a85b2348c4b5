-- Everything ichido keeps of its keys. Times are microseconds since the epoch, by the clock of the host that all
-- processes of the file share. Text is compared byte for byte (BINARY, the default collation).

-- An ordinary table, not WITHOUT ROWID: rows are wide (hashes, headers, body), and a tree of wide rows is deep. Bodies
-- come last, so that reading any other column never walks their overflow pages.
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
  -- How the present owner came by the record: a claim that is sent again after a lost reply is told the same.
  origin                TEXT    NOT NULL DEFAULT 'lapsed' CHECK (origin IN ('new', 'failed', 'lapsed', 'suspended')),
  -- 1: while `processing` the record does not expire, because what its owner did must be found out first.
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

-- Only what time alone may remove: records that never expire would otherwise pile up at the head of every sweep.
CREATE INDEX ichido_records_expires ON ichido_records (expires_us)
  WHERE state = 'completed'
    OR (steps_started = 0 AND interim_status IS NULL AND hold_reason IS NULL AND (state = 'failed' OR doubt_stays = 0));

-- What was released with the results of steps: a sweep takes it long after its retention.
CREATE INDEX ichido_records_spent ON ichido_records (expires_us) WHERE state = 'failed' AND steps_started > 0;

-- What is under way, failed or in doubt: few records beside the completed ones, and what a person on call looks for.
CREATE INDEX ichido_records_open ON ichido_records (state, key, scope_hash) WHERE state <> 'completed';

CREATE TABLE ichido_steps (
  key             TEXT    NOT NULL,
  scope_hash      BLOB    NOT NULL,
  name            TEXT    NOT NULL,
  ordinal         INTEGER NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('started', 'finished')),
  attempt         INTEGER NOT NULL,
  started_us      INTEGER NOT NULL,
  -- A call that was lost may be under way since then.
  last_started_us INTEGER,
  finished_us     INTEGER,
  result          BLOB,
  PRIMARY KEY (key, scope_hash, name)
) STRICT;

CREATE TABLE ichido_labels (
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  key        TEXT NOT NULL,
  scope_hash BLOB NOT NULL,
  PRIMARY KEY (name, value, key, scope_hash)
) STRICT, WITHOUT ROWID;

-- A person's decisions. They outlive the record they were made on.
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

CREATE INDEX ichido_audit_identity ON ichido_audit (key, scope_hash, id);

-- The greatest fence that was ever deleted: fences go on growing even when the clock went back meanwhile.
CREATE TABLE ichido_fence (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  floor INTEGER NOT NULL
) STRICT;

INSERT INTO ichido_fence (id, floor) VALUES (1, 0);

-- The one tick row: when the clock was last seen, how often it is seen, and since when it has run evenly.
CREATE TABLE ichido_clock (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  last_us         INTEGER NOT NULL,
  interval_us     INTEGER NOT NULL,
  steady_since_us INTEGER NOT NULL
) STRICT;
