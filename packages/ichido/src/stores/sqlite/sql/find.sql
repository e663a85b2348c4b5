-- One whole record.
-- Parameters: key, scope hash.
-- Rows: one or none.
-- Guarantee: one consistent state; writes nothing.
SELECT *, {stepsCount} AS steps_count
FROM {prefix}records AS r
WHERE key = ? AND scope_hash = ?
