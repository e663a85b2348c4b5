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
  place    INTEGER PRIMARY KEY AUTOINCREMENT,
  handler  TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  print    BLOB    NOT NULL,
  topic    TEXT    NOT NULL,
  -- Everything of the message but its payload, as JSON.
  envelope TEXT    NOT NULL,
  payload  BLOB    NOT NULL,
  reason   TEXT    NOT NULL,
  error    TEXT    NOT NULL,
  attempts INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  state    TEXT    NOT NULL CHECK (state IN ('dead', 'replaying')),
  UNIQUE (handler, id, print)
) STRICT;

-- Starts of redelivered messages that have not ended: what a process that dies leaves behind.
CREATE TABLE {prefix}inbox_starts (
  handler TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  starts  INTEGER NOT NULL,
  at_ms   INTEGER NOT NULL,
  PRIMARY KEY (handler, id)
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
