-- Empties the reasons in the audit of a record that is forgotten: who did what and when stays.
-- Parameters: key, scope hash.
-- Rows: none; one change per entry.
-- Guarantee: S24.
UPDATE {prefix}audit SET reason = '' WHERE key = ? AND scope_hash = ?
