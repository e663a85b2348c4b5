-- Fails where the account may not insert records.
-- Parameters: none.
-- Rows: none; writes nothing.
-- Guarantee: S18.
insert into {records} select * from {records} where false
