-- One whole record.
-- Parameters: key, scope hash.
-- Rows: one or none.
-- Guarantee: one consistent state; writes nothing.
SELECT * FROM ichido_records WHERE key = ? AND scope_hash = ?
