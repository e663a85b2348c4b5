-- The nearest first run with the same content under another key of the same scope, for each first run of a batch.
-- Parameters: :first and :last id of the batch, :withinUs, :limit.
-- Rows: up to :limit, one per first run that has such another.
-- Guarantee: S22.
select
  n.scope_hash, n.operation, n.`key`, n.at_us, m.`key` as met_key, m.at_us as met_at_us, {now} as now_us
from (
  select a.scope_hash, a.operation, a.`key`, a.at_us, (
    select c.id from {attempts} c
    where c.intent = a.intent and c.scope_hash = a.scope_hash and c.`key` <> a.`key` and c.id < a.id
      and c.at_us between a.at_us - :withinUs and a.at_us + :withinUs
    order by c.at_us desc limit 1
  ) as met_id
  from {attempts} a
  where a.id between :first and :last and a.intent is not null
) n
join {attempts} m on m.id = n.met_id
limit :limit
