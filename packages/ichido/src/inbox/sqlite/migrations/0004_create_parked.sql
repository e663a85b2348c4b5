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
