-- Whether this server is a standby, then the columns of a record, `r`, but for its body (`row.ts`).
pg_is_in_recovery(),
r.key, r.scope_hash, r.tenant, r.principal, r.operation,
r.fingerprint_version, r.fingerprint_raw, r.fingerprint_canonical, r.fingerprint_former,
r.state, replace(r.owner::text, '-', ''), r.origin, r.fence, r.attempts,
case when r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s'
  then ceil(extract(epoch from r.lease_until - clock_timestamp()) * 1000)::bigint
  when r.lease_until is not null then -1 end,
case when r.steps_started = 0 then 0 else (
  select count(*) from {prefix}steps s where s.key = r.key and s.scope_hash = r.scope_hash and s.life = r.life
) end,
r.hold_reason, r.response_kind, r.response_status, r.response_headers,
r.labels::text,
floor(extract(epoch from r.created_at) * 1000)::bigint,
floor(extract(epoch from r.updated_at) * 1000)::bigint,
floor(extract(epoch from r.expires_at) * 1000)::bigint
