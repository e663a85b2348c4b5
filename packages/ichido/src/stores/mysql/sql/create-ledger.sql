-- The migration ledger. `part` lets the records, the outbox and the inbox number their steps apart.
-- Parameters: none.
-- Rows: none.
-- Guarantee: may be run again.
create table if not exists {prefix}migrations (
  part varchar(64) character set ascii collate ascii_bin not null,
  version int not null,
  name varchar(200) character set ascii collate ascii_bin not null,
  checksum char(64) character set ascii collate ascii_bin not null,
  applied_us bigint not null,
  primary key (part, version)
) engine = InnoDB default character set ascii collate ascii_bin
