-- A consumer finds the letters that are to be replayed without reading the others, and they tell since when they wait.
alter table {prefix}inbox_dead add column marked_ms bigint;

create index {bare}inbox_dead_state on {prefix}inbox_dead (state, handler, place);
