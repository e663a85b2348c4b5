-- Everything that people did.
-- Parameters: id to start after, earliest time, limit.
-- Rows: up to `limit`, oldest first. A key of no characters: it was about no single record.
-- Guarantee: S23.
SELECT id, key, scope_hash, at_us, actor, action, reason, fence
FROM {prefix}audit
WHERE id > ? AND at_us >= ?
ORDER BY id
LIMIT ?
