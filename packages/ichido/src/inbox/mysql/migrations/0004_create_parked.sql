-- Messages that failed and wait for their next attempt, and those of the same key behind them.
create table if not exists {prefix}inbox_parked (
  -- The order of a line.
  place bigint not null auto_increment,
  handler varbinary(100) not null,
  id varbinary(255) not null,
  print binary(32) not null,
  -- SHA-256 of the message's key; of its id where it has none.
  line binary(32) not null,
  -- Everything of the message but its payload, as JSON.
  envelope mediumblob not null,
  payload longblob not null,
  error mediumblob not null,
  attempts int not null,
  since_ms bigint not null,
  -- From when on it may be taken up.
  due_ms bigint not null,
  primary key (place),
  unique key {prefix}inbox_parked_message (handler, id, print),
  key {prefix}inbox_parked_line (handler, line, place)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;
