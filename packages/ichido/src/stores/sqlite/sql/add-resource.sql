-- Notes what an operation made, unless it is noted.
-- Parameters: kind, id, key, scope hash, key, scope hash, key, scope hash, most resources of a record.
-- Rows: none; one change, or none past the bound.
-- Guarantee: S20, in the same transaction as the verb that brought it.
INSERT INTO {prefix}resources (kind, id, key, scope_hash, ordinal)
SELECT ?, ?, ?, ?, (SELECT count(*) FROM {prefix}resources WHERE key = ? AND scope_hash = ?)
WHERE (SELECT count(*) FROM {prefix}resources WHERE key = ? AND scope_hash = ?) < ?
ON CONFLICT DO NOTHING
