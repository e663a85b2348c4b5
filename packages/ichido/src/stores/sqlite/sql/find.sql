-- One whole record.
-- Parameters: key, scope hash.
-- Rows: one or none.
-- Guarantee: one consistent state; writes nothing.
SELECT
  *,
  CASE WHEN steps_started = 0 THEN 0 ELSE (
    SELECT count(*) FROM ichido_steps AS s WHERE s.key = ichido_records.key AND s.scope_hash = ichido_records.scope_hash
  ) END AS steps_count
FROM ichido_records
WHERE key = ? AND scope_hash = ?
