-- The one row by which a sweep sees that the server's clock has jumped: when the last sweep was, and since when none has.
create table if not exists {prefix}inbox_clock (
  id tinyint not null,
  last_ms bigint not null,
  steady_ms bigint not null,
  primary key (id)
) engine = InnoDB row_format = dynamic default character set ascii collate ascii_bin;

insert into {prefix}inbox_clock (id, last_ms, steady_ms)
values (1, timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(3)) div 1000, 0)
on duplicate key update id = id;
