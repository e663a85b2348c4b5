-- Asks for an identity that nobody has a record of, on the caller's transaction; see `0006_create_claim_free.sql`.
-- Parameters: key, scope hash, lock timeout in ms.
-- Rows: one: the fence, null when there is a record.
select {prefix}claim_free($1::text, $2::bytea, $3::integer)
