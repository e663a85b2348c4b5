-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a row with a dead letter stays as long as the letter: it tells whether a replay took effect. Bounded; rows that somebody holds are left for later.
delete from {prefix}inbox where ctid = any (array(
  select i.ctid from {prefix}inbox i where i.processed_ms < {now} - :age_ms::bigint
    and not exists (select 1 from {prefix}inbox_dead d where d.handler = i.handler and d.id = i.id)
  order by i.processed_ms limit :limit for update skip locked
))
