-- The state of a record as this owner and fence left it: tells a call that was sent again from one that came too late.
-- Parameters: key, scope hash, owner, fence.
-- Rows: one when owner and fence are still the last ones; none when someone else had the record since.
-- Guarantee: S7.
SELECT state FROM ichido_records WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ?
