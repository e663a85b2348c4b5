-- What handlers have processed, what they could not, and what people decided about it. {prefix} begins every table's name.
-- Times are milliseconds since the epoch. Text is compared byte for byte, as SQLite does where nothing else is said.

CREATE TABLE {prefix}inbox (
  handler      TEXT    NOT NULL,
  -- The message's id; a long one as its SHA-256.
  id           TEXT    NOT NULL,
  -- SHA-256 of topic, content type and payload.
  print        BLOB    NOT NULL,
  -- 1: a dead letter, so that a redelivery is a duplicate.
  dead         INTEGER NOT NULL,
  processed_ms INTEGER NOT NULL,
  PRIMARY KEY (handler, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX {prefix}inbox_processed ON {prefix}inbox (processed_ms);

-- The same id with other content is a dead letter of its own.
CREATE TABLE {prefix}inbox_dead (
  place     INTEGER PRIMARY KEY AUTOINCREMENT,
  handler   TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  print     BLOB    NOT NULL,
  topic     TEXT    NOT NULL,
  -- Everything of the message but its payload, as JSON.
  envelope  TEXT    NOT NULL,
  payload   BLOB    NOT NULL,
  reason    TEXT    NOT NULL,
  error     TEXT    NOT NULL,
  attempts  INTEGER NOT NULL,
  since_ms  INTEGER NOT NULL,
  state     TEXT    NOT NULL CHECK (state IN ('dead', 'replaying')),
  -- Since when it waits for its replay.
  marked_ms INTEGER,
  UNIQUE (handler, id, print)
) STRICT;

-- A consumer finds the letters that are to be replayed without reading the others.
CREATE INDEX {prefix}inbox_dead_state ON {prefix}inbox_dead (state, handler, place);

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind. Each is a row of its own, told
-- from others by its token: an attempt takes back its own and no other.
CREATE TABLE {prefix}inbox_starts (
  handler TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  token   TEXT    NOT NULL,
  at_ms   INTEGER NOT NULL,
  PRIMARY KEY (handler, id, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE {prefix}inbox_audit (
  place   INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms   INTEGER NOT NULL,
  action  TEXT    NOT NULL,
  handler TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  topic   TEXT    NOT NULL,
  actor   TEXT    NOT NULL,
  reason  TEXT    NOT NULL
) STRICT;

CREATE INDEX {prefix}inbox_audit_id ON {prefix}inbox_audit (id);

-- Messages that failed and wait for their next attempt, and those of the same key behind them.
CREATE TABLE {prefix}inbox_parked (
  -- The order of a line.
  place    INTEGER PRIMARY KEY AUTOINCREMENT,
  handler  TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  print    BLOB    NOT NULL,
  -- SHA-256 of the message's key; of its id where it has none.
  line     BLOB    NOT NULL,
  -- Everything of the message but its payload, as JSON.
  envelope TEXT    NOT NULL,
  payload  BLOB    NOT NULL,
  error    TEXT    NOT NULL,
  attempts INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  -- From when on it may be taken up.
  due_ms   INTEGER NOT NULL,
  UNIQUE (handler, id, print)
) STRICT;

CREATE INDEX {prefix}inbox_parked_line ON {prefix}inbox_parked (handler, line, place);

-- The one row by which a sweep sees that the clock has jumped: when the last sweep was, and since when none has.
CREATE TABLE {prefix}inbox_clock (
  id        INTEGER PRIMARY KEY,
  last_ms   INTEGER NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;

INSERT INTO {prefix}inbox_clock (id, last_ms, steady_ms)
VALUES (1, CAST(unixepoch('subsec') * 1000 AS INTEGER), 0);
