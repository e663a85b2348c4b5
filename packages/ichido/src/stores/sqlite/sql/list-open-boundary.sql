-- Where the next slice of a listing of unfinished records ends.
-- Parameters: state, key and scope hash to start after, rows in the slice less one.
-- Rows: one, or none when fewer are left.
-- Guarantee: reads the index of open records alone.
SELECT key, scope_hash
FROM {prefix}records
WHERE state <> 'completed' AND state = ? AND (key, scope_hash) > (?, ?)
ORDER BY key, scope_hash
LIMIT 1 OFFSET ?
