-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
create table {prefix}engines (
  engine text collate "C" primary key,
  note text not null,
  noted_at timestamptz not null
) with (fillfactor = 50);
