-- A page of records in the order of the primary key, without bodies.
-- Parameters: tenant, principal, operation, key, state, label as a JSON object, key and scope hash of the former page's
-- last record, how many. Null asks for nothing.
-- Rows: whether this server is a standby, then the columns of a record (`row.ts`).
-- Guarantee: S17. One consistent state per page; locks nothing.
select
  pg_is_in_recovery(),
  r.key, r.scope_hash, r.tenant, r.principal, r.operation,
  r.fingerprint_version, r.fingerprint_raw, r.fingerprint_canonical, r.fingerprint_former,
  r.state, replace(r.owner::text, '-', ''), r.origin, r.fence, r.attempts,
  case when r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s'
    then ceil(extract(epoch from r.lease_until - clock_timestamp()) * 1000)::bigint end,
  case when r.steps_started = 0 then 0 else (
    select count(*) from {prefix}steps s where s.key = r.key and s.scope_hash = r.scope_hash and s.life = r.life
  ) end,
  r.hold_reason, r.response_kind, r.response_status, r.response_headers, ''::bytea,
  r.labels::text,
  floor(extract(epoch from r.created_at) * 1000)::bigint,
  floor(extract(epoch from r.updated_at) * 1000)::bigint,
  floor(extract(epoch from r.expires_at) * 1000)::bigint
from {prefix}records r
where ($1::text is null or r.tenant = $1)
  and ($2::text is null or r.principal = $2)
  and ($3::text is null or r.operation = $3)
  and ($4::text is null or r.key = $4)
  and ($5::text is null or case $5
    when 'unknown' then r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null
      or not coalesce(r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s', false))
    else r.state = $5 end)
  and ($6::text is null or r.labels @> $6::text::jsonb)
  and ($7::text is null or (r.key, r.scope_hash) > ($7::text collate "C", $8::bytea))
order by r.key, r.scope_hash
limit $9::integer
