-- Runs an expired identity as new. The row is kept and overwritten, so that its fence goes on growing.
-- Parameters: as in claim, and the :fence that was seen to be past its retention.
-- Result: insertId, the new fence; 0 when the record changed meanwhile.
-- Guarantee: S6, S9, S11. Runs only after the ticks were found to be even; steps of the former life stay behind with it.
update {records} set
  life = greatest(fence + 1, {now}),
  fence = last_insert_id(greatest(fence + 1, {now})),
  tenant = :tenant, principal = :principal, operation = :operation,
  fingerprint_version = :version, fingerprint_raw = :raw, fingerprint_canonical = :canonical,
  fingerprint_former = :former,
  state = 'processing', origin = 'new', owner = :owner, attempts = 1, doubt_stays = :doubtStays,
  lease_us = {now} + :leaseUs, step_starts = 0, labels = :labels,
  hold_reason = null, response_kind = null, response_status = null, response_bytes = 0, response_headers = null,
  response_body = null,
  created_us = {now}, updated_us = {now}, expires_us = {now} + :retentionUs,
  sweep_us = if(:doubtStays, null, {now} + :retentionUs)
where `key` = :key and scope_hash = :scopeHash and fence = :fence
  and sweep_us <= {now} and (state <> 'processing' or not {live})
