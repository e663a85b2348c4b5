-- A start is a row of its own, told from others by its token: an attempt takes back its own and no other.
-- What was counted before is forgotten: a message that kills its process is counted anew.
drop table if exists {prefix}inbox_starts;

create table if not exists {prefix}inbox_starts (
  handler varbinary(100) not null,
  id varbinary(255) not null,
  token varbinary(36) not null,
  at_ms bigint not null,
  primary key (handler, id, token),
  key {prefix}inbox_starts_at (at_ms)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;
