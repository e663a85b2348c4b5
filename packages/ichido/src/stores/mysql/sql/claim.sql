-- Claims an identity. Insert first: whoever does not insert judges the row it met, under that row's lock.
-- Parameters: the identity, fingerprint, :owner, :leaseUs, :retentionUs, :labels. {same} compares the fingerprint;
--   {takeable} says what this claim may take and {unexpired} whether it must leave a record past its retention alone.
-- Result: insertId. The fence when the record is new; 1 own, 2 failed, 3 lapsed, 4 suspended when an existing record was
--   granted; 0 when nothing was (or the record is past its retention): read it to learn why.
-- Guarantee: S1 to S4, S6. affectedRows would not do: what it means depends on a flag of the connection.
-- Assignments hold in either order of evaluation (left to right, or all from the old row under MariaDB's mode
-- SIMULTANEOUS_ASSIGNMENT): what {mine} and {take} read is assigned last, and a grant stays a grant after each of them.
-- last_insert_id(0) matters: the values are evaluated before the conflict is known and have set it already.
insert into {records} (
  `key`, scope_hash, tenant, principal, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, state, owner, fence, life, attempts, lease_us, labels, created_us, updated_us, expires_us, sweep_us
)
values (
  :key, :scopeHash, :tenant, :principal, :operation, :version, :raw, :canonical,
  :former, 'processing', :owner, last_insert_id({moment}), {moment}, 1, {moment} + :leaseUs, :labels, {moment}, {moment},
  {moment} + :retentionUs, {moment} + :retentionUs
)
on duplicate key update
  fence = if(
    last_insert_id(case
      when {mine} then 1
      when not {take} then 0
      when state = 'failed' then 2
      when {doubtful} then 4
      else 3
    end) > 1,
    greatest(fence + 1, {now}), fence
  ),
  attempts = if({take}, attempts + 1, attempts),
  updated_us = if({take}, {now}, updated_us),
  owner = if({take}, values(owner), owner),
  state = if({take}, 'processing', state),
  lease_us = if({mine} or {take}, values(lease_us), lease_us)
