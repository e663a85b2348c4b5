-- A start is a row of its own, told from others by its token: an attempt takes back its own and no other.
-- What was counted before is forgotten: a message that kills its process is counted anew.
drop table {prefix}inbox_starts;

create table {prefix}inbox_starts (
  handler text collate "C" not null,
  id text collate "C" not null,
  token text collate "C" not null,
  at_ms bigint not null,
  primary key (handler, id, token)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
