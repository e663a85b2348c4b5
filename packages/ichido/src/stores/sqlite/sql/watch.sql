-- Whether a record changed in a way that a caller may wait for.
-- Parameters: key, scope hash.
-- Rows: one or none.
-- Guarantee: a hint; the claim that follows decides.
SELECT state, fence, updated_us, lease_us FROM {prefix}records WHERE key = ? AND scope_hash = ?
