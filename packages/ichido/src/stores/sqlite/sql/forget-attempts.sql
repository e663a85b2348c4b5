-- Removes the attempts of a record that is about to go or to be forgotten.
-- Parameters: key, scope hash.
-- Rows: none; one change per attempt.
-- Guarantee: S21, S24.
DELETE FROM {prefix}attempts WHERE key = ? AND scope_hash = ?
