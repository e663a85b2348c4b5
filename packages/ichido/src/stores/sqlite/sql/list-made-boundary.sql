-- Where the next slice of a listing by resource ends.
-- Parameters: kind, id, key and scope hash to start after, rows in the slice less one.
-- Rows: one, or none when fewer are left.
-- Guarantee: reads the resources alone.
SELECT key, scope_hash
FROM {prefix}resources
WHERE kind = ? AND id = ? AND (key, scope_hash) > (?, ?)
ORDER BY key, scope_hash
LIMIT 1 OFFSET ?
