-- A person keeps other attempts away from the record. Owner and fence stay: an owner thought dead may bring its answer.
-- Parameters: hold reason, updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: runs under the write lock, after `look` in the same transaction allowed it, with its audit row.
UPDATE {prefix}records
SET state = 'processing', hold_reason = ?, lease_us = 0, updated_us = ?
WHERE key = ? AND scope_hash = ?
