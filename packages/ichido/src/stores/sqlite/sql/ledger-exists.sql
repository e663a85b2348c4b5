-- Whether this file was ever migrated.
-- Parameters: none.
-- Rows: one or none.
-- Guarantee: fails on no state of the file that SQLite can read.
SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = 'ichido_migrations'
