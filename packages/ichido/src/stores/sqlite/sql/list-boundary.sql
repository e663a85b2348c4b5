-- Where the next slice of a listing ends.
-- Parameters: key and scope hash to start after, rows in the slice less one.
-- Rows: one, or none when fewer are left.
-- Guarantee: reads the primary key alone.
SELECT key, scope_hash
FROM {prefix}records
WHERE (key, scope_hash) > (?, ?)
ORDER BY key, scope_hash
LIMIT 1 OFFSET ?
