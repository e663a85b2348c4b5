-- The next attempts that the sweeper looks at, and whether each has a record.
-- Parameters: place to start after, place to end before, limit.
-- Rows: up to `limit`, in the order of writing.
-- Guarantee: S21. An attempt whose record is there goes with that record.
SELECT a.place, EXISTS (
  SELECT 1 FROM {prefix}records AS r WHERE r.key = a.key AND r.scope_hash = a.scope_hash
) AS recorded
FROM {prefix}attempts AS a
WHERE a.place > ? AND a.place < ?
ORDER BY a.place
LIMIT ?
