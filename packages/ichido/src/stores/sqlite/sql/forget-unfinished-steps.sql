-- Removes the steps without a result of a record that a person released: they did not happen.
-- Parameters: key, scope hash.
-- Rows: none; one change per step.
-- Guarantee: S15, S16. In the same transaction as the settlement.
DELETE FROM {prefix}steps WHERE key = ? AND scope_hash = ? AND state = 'started'
