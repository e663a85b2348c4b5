-- The record as it is once no transaction is writing it. Does not wait: MySQL cannot bound the wait of one statement.
-- Parameters: :key, :scopeHash.
-- Rows: one or none. Fails with 1205 (MariaDB) or 3572 (MySQL) while a transaction has the row.
-- Guarantee S19: a transaction that completes the record has its row until its end. Grants and changes nothing.
select state, owner, fence from {records} where `key` = :key and scope_hash = :scopeHash for update nowait
