-- The one row by which a sweep sees that the server's clock has jumped: when the last sweep was, and since when none has.
create table {prefix}inbox_clock (
  id smallint primary key,
  last_ms bigint not null,
  steady_ms bigint not null
);

insert into {prefix}inbox_clock (id, last_ms, steady_ms)
values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint, 0);
