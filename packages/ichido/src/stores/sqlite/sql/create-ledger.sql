-- The migration ledger. `part` lets the records, the outbox and the inbox number their steps apart.
-- Parameters: none.
-- Rows: none.
-- Guarantee: runs under the write lock of the migration.
CREATE TABLE IF NOT EXISTS ichido_migrations (
  part       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  checksum   TEXT    NOT NULL,
  applied_us INTEGER NOT NULL,
  PRIMARY KEY (part, version)
) STRICT
