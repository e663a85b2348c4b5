-- Notes a pair; see `0005_create_history.sql`.
-- Parameters: scope hash, operation, first key, second key, us between them, header lines of a forgotten record.
-- Rows: one: whether it is new.
-- Guarantee: S22.
select {prefix}add_twin($1::bytea, $2::text, $3::text, $4::text, $5::bigint, $6::text)
