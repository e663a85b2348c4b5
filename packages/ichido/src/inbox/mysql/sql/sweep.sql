-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a row with a dead letter, or with a parked message, stays as long as that: the row shows whether the
--   message took effect. Bounded.
delete from {prefix}inbox where processed_ms < {now} - :age_ms
  and not exists (select 1 from {prefix}inbox_dead d where d.handler = {prefix}inbox.handler and d.id = {prefix}inbox.id)
  and not exists (select 1 from {prefix}inbox_parked p where p.handler = {prefix}inbox.handler and p.id = {prefix}inbox.id)
order by processed_ms limit :limit
