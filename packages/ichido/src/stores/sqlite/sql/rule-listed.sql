-- What a listing shows of a record, `r`: everything but bodies.
r.key, r.scope_hash, r.tenant, r.principal, r.operation, r.fingerprint_version, r.fingerprint_raw,
r.fingerprint_canonical, r.fingerprint_former, r.state, r.owner, r.origin, r.fence, r.attempts, r.lease_us, r.hold_reason,
r.labels, r.created_us, r.updated_us, r.expires_us, r.interim_kind, r.interim_status, r.interim_headers, r.response_kind,
r.response_status, r.response_headers, {stepsCount} AS steps_count
