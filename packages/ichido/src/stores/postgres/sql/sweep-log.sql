-- Looks at the next attempts, once each, and removes those whose record is gone, or never was: one whose record is there
-- goes with that record. The youngest are left to the next time: a claim on a transaction that is open is not seen yet.
-- Parameters: how many.
-- Rows: one: how many were looked at.
-- Guarantee: S21.
with looked as materialized (
  select a.written_at, a.place, exists (
    select from {prefix}records r where r.key = a.key and r.scope_hash = a.scope_hash
  ) as recorded
  from {prefix}attempts a
  where (a.written_at, a.place) > (
    coalesce((select s.written_at from {prefix}log_sweep s where s.id = 1), 'epoch'),
    coalesce((select s.place from {prefix}log_sweep s where s.id = 1), 0)
  ) and a.written_at < clock_timestamp() - interval '1 hour'
  order by a.written_at, a.place
  limit $1::integer
),
gone as (
  delete from {prefix}attempts a using looked l
  where not l.recorded and a.written_at = l.written_at and a.place = l.place
),
moved as (
  insert into {prefix}log_sweep (id, written_at, place)
  select 1, l.written_at, l.place from looked l order by l.written_at desc, l.place desc limit 1
  on conflict (id) do update set written_at = excluded.written_at, place = excluded.place
)
select count(*) from looked
