-- Notes that a migration ran.
-- Parameters: part, version, name, checksum, applied.
-- Rows: none; one change.
-- Guarantee: in the same transaction as the migration itself.
INSERT INTO ichido_migrations (part, version, name, checksum, applied_us) VALUES (?, ?, ?, ?, ?)
