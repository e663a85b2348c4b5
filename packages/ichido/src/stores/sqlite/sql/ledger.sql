-- The migrations that ran.
-- Parameters: part.
-- Rows: one per migration.
-- Guarantee: one consistent state.
SELECT version, checksum FROM ichido_migrations WHERE part = ? ORDER BY version
