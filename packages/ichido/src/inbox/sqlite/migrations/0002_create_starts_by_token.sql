-- A start is a row of its own, told from others by its token: an attempt takes back its own and no other.
-- What was counted before is forgotten: a message that kills its process is counted anew.
DROP TABLE {prefix}inbox_starts;

CREATE TABLE {prefix}inbox_starts (
  handler TEXT    NOT NULL,
  id      TEXT    NOT NULL,
  token   TEXT    NOT NULL,
  at_ms   INTEGER NOT NULL,
  PRIMARY KEY (handler, id, token)
) STRICT, WITHOUT ROWID;
