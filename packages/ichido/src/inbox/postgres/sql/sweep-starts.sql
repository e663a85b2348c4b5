-- Forgets starts that nobody asked about for the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded; rows that somebody holds are left for later.
delete from {prefix}inbox_starts where ctid = any (array(
  select ctid from {prefix}inbox_starts where at_ms < {now} - :age_ms::bigint order by at_ms limit :limit for update skip locked
))
