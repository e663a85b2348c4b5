-- What an operation made.
-- Parameters: key, scope hash.
-- Rows: one per resource, in the order told.
-- Guarantee: S20, one consistent state.
SELECT kind, id FROM {prefix}resources WHERE key = ? AND scope_hash = ? ORDER BY ordinal
