-- The external calls made under a record.
-- Parameters: key, scope hash.
-- Rows: one per step, in the order of their first start.
-- Guarantee: one consistent state.
SELECT name, state, attempt, started_us, coalesce(last_started_us, started_us) AS last_started_us, finished_us, result
FROM {prefix}steps
WHERE key = ? AND scope_hash = ?
ORDER BY ordinal
