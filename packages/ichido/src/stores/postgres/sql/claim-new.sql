-- Claims an identity that has no record, on the caller's transaction; see `0004_create_joined_functions.sql`.
-- Parameters: key, scope hash, tenant, principal, operation, fingerprint version, raw, canonical and former hash, owner,
-- lease ms, retention ms, labels, lock timeout in ms.
-- Rows: one: the fence, null when there is a record.
-- Guarantee: S1, S6. Of transactions that claim the same identity one inserts, the others wait for its end.
select {prefix}claim_new(
  $1::text, $2::bytea, $3::text, $4::text, $5::text, $6::integer, $7::bytea, $8::bytea, $9::bytea,
  $10::uuid, $11::bigint, $12::bigint, $13::text, $14::integer
)
