-- Stores the final answer, if owner and fence still hold the record. Runs alone or in the caller's transaction.
-- Parameters: key, scope hash, owner, fence, response kind, status, headers, body, notification channel.
-- Rows: one when it holds, none when stale. Guarantees S5, S7: once completed, the same owner and fence write the record
-- back as it is, which is how a completion whose reply was lost learns that it went through.
with done as (
  update {prefix}records r set
    state = 'completed', lease_until = null, hold_reason = null,
    response_kind = case when r.state = 'completed' then r.response_kind else $5::text end,
    response_status = case when r.state = 'completed' then r.response_status else $6::integer end,
    response_headers = case when r.state = 'completed' then r.response_headers else $7::text end,
    response_body = case when r.state = 'completed' then r.response_body else $8::bytea end,
    updated_at = case when r.state = 'completed' then r.updated_at else clock_timestamp() end
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
    and r.state in ('processing', 'completed')
  returning r.watched
)
select case when watched then pg_notify($9::text, encode(sha256(convert_to($1, 'UTF8') || $2), 'hex')) end as notified
from done
