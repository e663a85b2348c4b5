-- What engines tell of themselves, for `doctor`: one row each, rewritten every minute, gone a day after the last time.
create table if not exists {prefix}engines (
  engine varbinary(64) not null,
  note mediumblob not null,
  noted_us bigint not null,
  primary key (engine)
) engine = InnoDB default character set ascii collate ascii_bin;
