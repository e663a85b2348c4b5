-- Records the result of an external call; see `0003_create_step_functions.sql`.
-- Parameters: key, scope hash, owner, fence, step name, lease ms, result, what the operation made as JSON or null, the most
-- resources of a record, lock timeout in ms.
-- Rows: one: 1 when it holds, 0 when stale. Raises 55P03 when the row did not come free in time.
-- Guarantee: S5, S11, S15, S20.
with patience as materialized (select set_config('lock_timeout', $10::text, true))
select (case when $8::text is null then {prefix}step($1, $2, $3, $4, $5, $6, $7, false)
  else {prefix}tell({prefix}step($1, $2, $3, $4, $5, $6, $7, false), $1, $2, $8, $9) end)::integer
from patience
