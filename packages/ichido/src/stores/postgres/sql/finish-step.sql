-- Records the result of an external call; see `0003_create_step_functions.sql`.
-- Parameters: key, scope hash, owner, fence, step name, lease ms, result.
-- Rows: one: 1 when it holds, 0 when stale.
-- Guarantee: S5, S11, S15.
select {prefix}step($1, $2, $3, $4, $5, $6, $7, false)::integer
