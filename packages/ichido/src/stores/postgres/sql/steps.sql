-- The steps of the record's present life, in the order of their first start.
-- Parameters: key, scope hash.
-- Rows: whether this server is a standby; then name, attempt, result, whether finished, started ms, age ms, finished ms,
-- last started ms, age ms of that.
-- One row with a null name when there are none.
-- Guarantee: one consistent state; locks and writes nothing.
select
  pg_is_in_recovery(), s.name, s.attempt, s.result, (s.finished_at is not null)::integer,
  floor(extract(epoch from s.started_at) * 1000)::bigint,
  floor(extract(epoch from clock_timestamp() - s.started_at) * 1000)::bigint,
  floor(extract(epoch from s.finished_at) * 1000)::bigint,
  floor(extract(epoch from coalesce(s.last_started_at, s.started_at)) * 1000)::bigint,
  floor(extract(epoch from clock_timestamp() - coalesce(s.last_started_at, s.started_at)) * 1000)::bigint
from (select) as always
left join (
  {prefix}steps s join {prefix}records r on r.key = s.key and r.scope_hash = s.scope_hash and r.life = s.life
) on s.key = $1::text and s.scope_hash = $2::bytea
order by s.place
