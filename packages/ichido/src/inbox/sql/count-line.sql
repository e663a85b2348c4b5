-- How many messages of a key wait, up to a bound.
-- Parameters: :handler, :line, :limit.
-- Rows: one.
-- Guarantee: committed state only.
select count(*) as waiting from (
  select place from {prefix}inbox_parked where handler = :handler and line = :line limit :limit
) l
