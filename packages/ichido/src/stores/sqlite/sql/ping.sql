-- Asks for the right to write without writing: SQLite lets a transaction begin even on a file that is read-only.
-- Parameters: none.
-- Rows: none; no change, so nothing waits for the disk.
-- Guarantee: S18.
UPDATE {prefix}fence SET floor = floor WHERE id = 0
