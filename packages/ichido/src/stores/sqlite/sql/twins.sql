-- The pairs that a record is a part of.
-- Parameters: key, scope hash, key, scope hash.
-- Rows: one per pair, oldest first.
-- Guarantee: S22.
SELECT * FROM {prefix}twins WHERE (first_key = ? AND scope_hash = ?) OR (second_key = ? AND scope_hash = ?) ORDER BY place
