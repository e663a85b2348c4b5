-- The state of a record as this owner and fence left it: distinguishes a call that was sent again from one that came
-- too late.
-- Parameters: key, scope hash, owner, fence.
-- Rows: one when owner and fence are still the last ones; none when another owner had the record since.
-- Guarantee: S7.
SELECT state FROM {prefix}records WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ?
