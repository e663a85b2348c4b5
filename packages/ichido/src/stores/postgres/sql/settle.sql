-- A decision on a record in doubt, with its audit row; see `0003_create_step_functions.sql`.
-- Parameters: key, scope hash, fence, decision, response kind, status, headers and body (null unless adopted), actor, reason,
-- channel, whether it is in the name of a policy: then a hold stands in the way, and steps stay (as text, since postgres.js
-- takes any text for a boolean as false), lock timeout in ms.
-- Rows: one, the verdict. Raises 55P03 when the row did not come free in time.
-- Guarantee: S16.
with patience as materialized (select set_config('lock_timeout', $13::text, true))
select {prefix}settle(
  $1::text, $2::bytea, $3::bigint, $4::text, $5::text, $6::integer, $7::text, $8::bytea, $9::text, $10::text, $11::text,
  $12::text::boolean
)
from patience
