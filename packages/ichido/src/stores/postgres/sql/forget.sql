-- Erases what a record holds; see `0005_create_history.sql`.
-- Parameters: key, scope hash, fence, actor, reason, action, headers of the tombstone, status of one without an answer.
-- Rows: one, the verdict.
-- Guarantee: S24.
select {prefix}forget($1::text, $2::bytea, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::integer)
