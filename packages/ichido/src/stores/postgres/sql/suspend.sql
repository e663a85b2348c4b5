-- Ends the lease without a final answer; with an interim answer or a hold reason the record is in doubt.
-- Parameters: key, scope hash, owner, fence, interim kind, status, headers, body, hold reason, notification channel,
-- what the operation made as JSON or null, the most resources of a record, lock timeout in ms.
-- Rows: one when it holds, none when stale. Raises 55P03 when the row did not come free in time.
-- Guarantee: S4, S5, S20.
with patience as materialized (select set_config('lock_timeout', $13::text, true)),
done as (
  update {prefix}records r set
    lease_until = null,
    hold_reason = coalesce($9::text, r.hold_reason),
    response_kind = coalesce($5::text, r.response_kind),
    response_status = coalesce($6::integer, r.response_status),
    response_headers = coalesce($7::text, r.response_headers),
    response_body = coalesce($8::bytea, r.response_body),
    updated_at = clock_timestamp()
  from patience
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state = 'processing'
  returning r.watched
)
select case when watched then pg_notify($10::text, encode(sha256(convert_to($1, 'UTF8') || $2), 'hex')) end,
  {prefix}tell(true, $1, $2, $11::text, $12::integer)
from done
