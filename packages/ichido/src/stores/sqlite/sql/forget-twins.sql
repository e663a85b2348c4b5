-- Removes the pairs of a record that is about to go or to be forgotten.
-- Parameters: key, scope hash, key, scope hash.
-- Rows: none; one change per pair.
-- Guarantee: S22, S24.
DELETE FROM {prefix}twins WHERE (first_key = ? AND scope_hash = ?) OR (second_key = ? AND scope_hash = ?)
