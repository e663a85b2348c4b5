-- Removes the steps of a record that is about to go or to run as new.
-- Parameters: key, scope hash.
-- Rows: none; one change per step.
-- Guarantee: in the same transaction as the end of the record.
DELETE FROM {prefix}steps WHERE key = ? AND scope_hash = ?
