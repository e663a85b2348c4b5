-- Fails where the account may not delete records.
-- Parameters: none.
-- Rows: none; no record has an empty key. By the primary key, as sessions with safe updates want it.
-- Guarantee: S18.
delete from {records} where `key` = x'' and scope_hash = x''
