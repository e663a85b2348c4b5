-- Marks the attempt as failed: the next one may run, with the same fingerprint. A record on hold waits for a person all
-- the same: only the lease ends.
-- Parameters: key, scope hash, owner, fence, notification channel, lock timeout in ms.
-- Rows: one when it holds, none when stale. Raises 55P03 when the row did not come free in time.
-- Guarantee: S4, S5. Releasing again is harmless while no other owner took the record.
with patience as materialized (select set_config('lock_timeout', $6::text, true)),
done as (
  update {prefix}records r set
    state = case when r.hold_reason is null then 'failed' else r.state end, lease_until = null,
    response_kind = case when r.hold_reason is not null then r.response_kind end,
    response_status = case when r.hold_reason is not null then r.response_status end,
    response_headers = case when r.hold_reason is not null then r.response_headers end,
    response_body = case when r.hold_reason is not null then r.response_body end,
    updated_at = case when r.state = 'failed' then r.updated_at else clock_timestamp() end
  from patience
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state in ('processing', 'failed')
  returning r.watched
)
select case when watched then pg_notify($5::text, encode(sha256(convert_to($1, 'UTF8') || $2), 'hex')) end
from done
