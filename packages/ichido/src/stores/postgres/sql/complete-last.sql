-- Completes one record in one message with COMMIT; see `0004_create_joined_functions.sql`.
-- Parameters: key, scope hash, owner, fence, response kind, status, headers, body, notification channel.
-- Rows: one, with nothing to decide by. Raises IC001 when stale.
-- Guarantee: S5, S7. What is stale is rolled back with the rest of the transaction.
select {prefix}complete_last(
  $1::text, $2::bytea, $3::uuid, $4::bigint, $5::text, $6::integer, $7::text, $8::bytea, $9::text
)
