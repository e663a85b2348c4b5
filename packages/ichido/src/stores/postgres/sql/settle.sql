-- A decision on a record in doubt, with its audit row; see `0003_create_step_functions.sql`.
-- Parameters: key, scope hash, fence, decision, response kind, status, headers and body (null unless adopted), actor, reason,
-- channel, whether it is in the name of a policy: then a hold stands in the way, and steps stay (as text, since postgres.js
-- takes any text for a boolean as false).
-- Rows: one, the verdict.
-- Guarantee: S16.
select {prefix}settle(
  $1::text, $2::bytea, $3::bigint, $4::text, $5::text, $6::integer, $7::text, $8::bytea, $9::text, $10::text, $11::text,
  $12::text::boolean
)
