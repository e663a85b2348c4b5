-- The one row by which a sweep sees that the clock has jumped: when the last sweep was, and since when none has.
CREATE TABLE {prefix}inbox_clock (
  id        INTEGER PRIMARY KEY,
  last_ms   INTEGER NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;

INSERT INTO {prefix}inbox_clock (id, last_ms, steady_ms)
VALUES (1, CAST(unixepoch('subsec') * 1000 AS INTEGER), 0);
