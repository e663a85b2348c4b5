-- The attempts of one record.
-- Parameters: key, scope hash.
-- Rows: one per attempt, oldest first.
-- Guarantee: S21, one consistent state.
SELECT * FROM {prefix}attempts WHERE key = ? AND scope_hash = ? ORDER BY place
