-- Takes the write lock of the file and changes nothing.
-- Parameters: none.
-- Rows: none; no change.
-- Guarantee: fails as busy when another connection holds the lock, or has written since this transaction first read.
UPDATE {prefix}fence SET floor = floor WHERE id = 0
