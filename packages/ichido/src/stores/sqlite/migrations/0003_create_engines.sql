-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
CREATE TABLE ichido_engines (
  engine   TEXT    PRIMARY KEY,
  note     TEXT    NOT NULL,
  noted_us INTEGER NOT NULL
) STRICT;
