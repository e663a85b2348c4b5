-- What a claim must know of a record that it meets, and of one that it made.
`key`, scope_hash, state, owner, origin, fence, attempts, lease_us, step_starts, doubt_stays, hold_reason, fingerprint_raw,
fingerprint_canonical, fingerprint_former, created_us, updated_us, expires_us, response_kind, response_status,
response_headers, response_body, labels, {now} as now_us
