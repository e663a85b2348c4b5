-- Writes a record together with its answer, on the transaction that asked `claim_free` for it.
-- Parameters: key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical and former hash, owner,
-- fence (the time of birth in microseconds), retention ms, labels, response kind, status, headers, body.
-- Raises a violation of the primary key (23505) when somebody has written one meanwhile, and of the state (23502) when this
-- is another transaction than the one that asked: one that began after the fence was made.
insert into {prefix}records (
  key, scope_hash, tenant, principal, operation,
  fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
  state, origin, owner, fence, life, attempts, created_at, updated_at, expires_at,
  labels, response_kind, response_status, response_headers, response_body
) values (
  $1::text, $2::bytea, $3::text, $4::text, $5::text, $6::integer, $7::bytea, $8::bytea, $9::bytea,
  case when now() <= timestamptz 'epoch' + $11::bigint * interval '1 microsecond' then 'completed' end,
  'new', $10::uuid, $11::bigint, $11::bigint, 1,
  timestamptz 'epoch' + $11::bigint * interval '1 microsecond', clock_timestamp(),
  timestamptz 'epoch' + $11::bigint * interval '1 microsecond' + $12::bigint * interval '1 ms',
  $13::jsonb, $14::text, $15::integer, $16::text, $17::bytea
)
