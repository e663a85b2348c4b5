-- Removes what is known of the results of a record that is about to go, to run as new or to be forgotten.
-- Parameters: key, scope hash.
-- Rows: none; one change per resource.
-- Guarantee: S20, in the same transaction as the end of the record.
DELETE FROM {prefix}resources WHERE key = ? AND scope_hash = ?
