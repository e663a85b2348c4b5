-- Fails where the account may not change records.
-- Parameters: none.
-- Rows: none; no record has an empty key. By the primary key, as sessions with safe updates want it.
-- Guarantee: S18.
update {records} set sweep_us = null where `key` = x'' and scope_hash = x''
