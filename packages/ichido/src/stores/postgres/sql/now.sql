-- The server's clock.
-- Parameters: none.
-- Rows: one: microseconds since the epoch.
-- Guarantee: none.
select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint
