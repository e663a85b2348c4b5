-- Notes that this server's clock was seen. A tick that comes late, or before the last one, starts the count anew.
-- Parameters: interval ms.
-- Rows: one, whether expiry is trusted.
-- Guarantee: S10.
with moment as materialized (select clock_timestamp() as now),
noted as (
  insert into {prefix}clock as t (id, last_at, interval_ms, steady_since)
  select 1, m.now, $1::bigint, m.now from moment m
  on conflict (id) do update set
    last_at = excluded.last_at, interval_ms = excluded.interval_ms,
    steady_since = case
      when excluded.last_at - t.last_at between interval '0' and excluded.interval_ms * interval '{tickGapIntervals} ms' then t.steady_since
      else excluded.last_at
    end
  returning t.last_at - t.steady_since >= t.interval_ms * interval '{tickGapIntervals} ms' as trusted
)
select trusted::integer from noted
