-- The external calls made under the present life of a record.
-- Parameters: :key, :scopeHash.
-- Rows: one per step, in the order of their first start.
-- Guarantee: one consistent state.
select
  s.name, s.attempt, s.started_us, coalesce(s.last_started_us, s.started_us) as last_started_us, s.finished_us, s.result,
  {now} as now_us
from {records} r join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life
where r.`key` = :key and r.scope_hash = :scopeHash and {happened}
order by s.place, s.started_us, s.name
