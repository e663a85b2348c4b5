-- What a listing shows of a record, `r`: everything but its body.
r.`key`, r.scope_hash, r.tenant, r.principal, r.operation, r.fingerprint_version, r.fingerprint_raw,
r.fingerprint_canonical, r.fingerprint_former, r.state, r.owner, r.origin, r.fence, r.attempts, r.lease_us, r.hold_reason,
r.response_kind, r.response_status, r.response_headers, r.labels, r.created_us, r.updated_us, r.expires_us,
if(r.step_starts = 0, 0, (
  select count(*) from {steps} s
  where s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life and {happened}
)) as steps_started,
{now} as now_us
