-- Counts and ages over all records; see `0005_create_history.sql`.
-- Parameters: pages of the table that are read at most.
-- Rows: one: processing, completed, failed, unknown, body bytes, sweep lag ms, oldest unknown ms, whether estimated.
-- Guarantee: S17. Locks nothing.
select * from {prefix}stats($1::integer)
