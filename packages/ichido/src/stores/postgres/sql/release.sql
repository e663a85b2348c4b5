-- Marks the attempt as failed: the next one may run, with the same fingerprint.
-- Parameters: key, scope hash, owner, fence, notification channel.
-- Rows: one when it holds, none when stale. Guarantee S5. Releasing again is harmless while nobody took the record.
with done as (
  update {prefix}records r set
    state = 'failed', lease_until = null, hold_reason = null,
    response_kind = null, response_status = null, response_headers = null, response_body = null,
    updated_at = case when r.state = 'failed' then r.updated_at else clock_timestamp() end
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state in ('processing', 'failed')
  returning r.watched
)
select case when watched then pg_notify($5::text, encode(sha256(convert_to($1, 'UTF8') || $2), 'hex')) end
from done
