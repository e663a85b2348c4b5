-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded; rows that somebody holds are left for later.
delete from {prefix}inbox where ctid = any (array(
  select ctid from {prefix}inbox where processed_ms < {now} - :age_ms::bigint order by processed_ms limit :limit for update skip locked
))
