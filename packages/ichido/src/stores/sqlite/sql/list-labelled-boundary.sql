-- Where the next slice of a listing by label ends.
-- Parameters: name, value, key and scope hash to start after, rows in the slice less one.
-- Rows: one, or none when fewer are left.
-- Guarantee: reads the labels alone.
SELECT key, scope_hash
FROM {prefix}labels
WHERE name = ? AND value = ? AND (key, scope_hash) > (?, ?)
ORDER BY key, scope_hash
LIMIT 1 OFFSET ?
