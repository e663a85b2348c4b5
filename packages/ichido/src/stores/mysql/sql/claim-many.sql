-- Claims many identities that are likely to have no record. Insert first, as in claim.
-- Parameters: {rows} is one row of values per identity, as in claim, sorted by identity: rows are locked in that order.
-- Rows: the record of each, as `look` has it. One that this statement made was created at the moment of the statement and
--   has the owner that asked for it.
-- Guarantee: S1. A record that is there already stays as it is. A statement that is sent again leaves what it left before.
insert into {records} (
  `key`, scope_hash, tenant, principal, operation,
  fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
  state, origin, owner, attempts, labels, doubt_stays,
  fence, life, created_us, updated_us, lease_us, expires_us, sweep_us
)
values {rows}
on duplicate key update fence = {records}.fence
returning {seen}
