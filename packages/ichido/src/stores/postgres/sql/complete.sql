-- Completes one or many records, each of which appears once, in key order; see `0002_create_functions.sql`.
-- Parameters: arrays of key, scope hash, owner, fence, response kind, status, headers, first byte and length of the body;
-- all bodies joined; notification channel; lock timeout in ms, or null for the session's own.
-- Rows: the `place` of each that holds, counting from 1; stale ones are missing.
-- Guarantee: S5, S7. Each record by itself.
select * from {prefix}complete(
  $1::text[], $2::bytea[], $3::uuid[], $4::bigint[], $5::text[], $6::integer[], $7::text[], $8::integer[], $9::integer[],
  $10::bytea, $11::text, $12::integer
)
