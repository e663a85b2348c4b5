-- The nearest first run with the same content under another key of the same scope.
-- Parameters: intent, scope hash, key, earliest, latest.
-- Rows: one or none.
-- Guarantee: S22.
SELECT key, operation, at_us
FROM {prefix}attempts
WHERE intent = ? AND scope_hash = ? AND key <> ? AND at_us BETWEEN ? AND ?
ORDER BY at_us DESC
LIMIT 1
