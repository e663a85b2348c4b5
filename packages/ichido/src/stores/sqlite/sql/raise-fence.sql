-- Remembers the fences of records that are about to go.
-- Parameters: the greatest of them.
-- Rows: none; one change.
-- Guarantee: S6, in the same transaction as the deletion.
UPDATE {prefix}fence SET floor = max(floor, ?) WHERE id = 1
