-- Removes pages of the attempt log that were kept as long as their longest record, and processes that have not been heard of
-- for long.
-- Parameters: how many.
-- Rows: one: how many pages went.
-- Guarantee: S21.
with due as materialized (
  select p.place from {prefix}log_pages p where p.keep_until < clock_timestamp()
  order by p.keep_until limit $1::integer
),
gone as (
  delete from {prefix}log_pages p using due d where p.place = d.place returning 1
),
silent as (
  delete from {prefix}processes p where p.seen_at < clock_timestamp() - interval '90 days'
)
select count(*) from gone
