-- Claims an identity that has no record. Insert first: among concurrent claims one inserts, all others meet its row.
-- Parameters: the identity, fingerprint, :owner, :leaseUs, :retentionUs, :labels, :doubtStays as 0 or 1.
-- Result: insertId, the fence, when the record is new; 0 when there was one, which `look` then reads.
-- Guarantee: S1. affectedRows would not do: what it means depends on a flag of the connection. The statement must set
--   the 0 itself: the values are evaluated before the conflict is known, and have set the id already. The 0 depends on
--   the row, as last_insert_id does in every update here, so that no optimizer computes it before there is a row.
insert into {records} (
  `key`, scope_hash, tenant, principal, operation,
  fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
  state, origin, owner, attempts, labels, doubt_stays,
  fence, life, created_us, updated_us, lease_us, expires_us, sweep_us
)
values (
  :key, :scopeHash, :tenant, :principal, :operation,
  :version, :raw, :canonical, :former,
  'processing', 'new', :owner, 1, :labels, :doubtStays,
  last_insert_id({now}), fence, fence, fence, fence + :leaseUs, fence + :retentionUs,
  if(:doubtStays, null, fence + :retentionUs)
)
on duplicate key update fence = fence + last_insert_id(0 * fence)
