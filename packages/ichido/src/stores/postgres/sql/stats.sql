-- Counts and ages over all records. Reads the whole table: for dashboards, not for requests.
-- Parameters: none.
-- Rows: one: records, processing, completed, failed, unknown, body bytes, sweep lag ms, oldest unknown ms.
-- Guarantee: S17. One consistent state; locks nothing.
select
  count(*),
  count(*) filter (where state = 'processing' and not unknown),
  count(*) filter (where state = 'completed'),
  count(*) filter (where state = 'failed'),
  count(*) filter (where unknown),
  coalesce(sum(octet_length(response_body)), 0),
  coalesce(floor(extract(epoch from max(now - expires_at) filter (where expires_at <= now
    and (state = 'completed' or (steps_started = 0 and (state = 'failed'
      or not (doubt_stays or live or hold_reason is not null or response_kind is not null)))))) * 1000), 0)::bigint,
  coalesce(floor(extract(epoch from max(now - created_at) filter (where unknown)) * 1000), 0)::bigint
from (
  select r.*, n.now, l.live,
    r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null or not l.live) as unknown
  from (select clock_timestamp() as now offset 0) n
  cross join {prefix}records r
  cross join lateral (
    select coalesce(r.lease_until > n.now and r.lease_until <= n.now + interval '{leaseAbsurdSeconds} s', false) as live
  ) l
) s
