-- Completes one record on the caller's transaction; see `0004_create_joined_functions.sql`.
-- Parameters: key, scope hash, owner, fence, response kind, status, headers, body, notification channel, whether it goes
-- in one message with COMMIT.
-- Rows: one: 1 when it holds, 0 when stale. With COMMIT it raises IC001 when stale.
-- Guarantee: S5, S7. In the caller's transaction, with whose other writes it is rolled back when stale.
select {prefix}complete_one(
  $1::text, $2::bytea, $3::uuid, $4::bigint, $5::text, $6::integer, $7::text, $8::bytea, $9::text, $10::boolean
)::integer
