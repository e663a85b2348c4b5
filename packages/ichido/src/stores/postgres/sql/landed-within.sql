-- Waits for the end of a transaction that has inserted this identity and not committed it; see
-- `0004_create_joined_functions.sql`.
-- Parameters: key, scope hash, lock timeout in ms.
-- Rows: one. Raises 55P03 when it did not end in time.
-- Guarantee S19, together with `landed` in a statement of its own: that one then sees what the transaction left, whatever
-- the isolation level.
select {prefix}landed_within($1::text, $2::bytea, $3::integer)
