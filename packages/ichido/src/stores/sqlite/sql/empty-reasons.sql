-- Empties a reason wherever the audit has it.
-- Parameters: reason.
-- Rows: none; one change per entry.
-- Guarantee: S24. Who did what and when stays.
UPDATE {prefix}audit SET reason = '' WHERE reason = ?
