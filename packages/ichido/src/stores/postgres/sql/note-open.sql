-- Notes which records are not completed; see `0005_create_history.sql`.
-- Parameters: us that are left to the next time, how many are looked at.
-- Rows: one, empty.
-- Guarantee: S17.
select {prefix}note_open($1::bigint, $2::integer)
