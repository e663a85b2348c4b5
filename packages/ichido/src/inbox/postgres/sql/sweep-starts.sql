-- Forgets starts that are older than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a start of a dead letter stays as long as the letter: it may be all that is left of a replay. Bounded;
--   rows that another transaction holds are left for later.
delete from {prefix}inbox_starts where ctid = any (array(
  select s.ctid from {prefix}inbox_starts s where s.at_ms < {now} - :age_ms::bigint
    and not exists (select 1 from {prefix}inbox_dead d where d.handler = s.handler and d.id = s.id)
  order by s.at_ms limit :limit for update skip locked
))
