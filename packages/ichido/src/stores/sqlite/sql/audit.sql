-- Every decision a person made on an identity, also under records that are gone.
-- Parameters: key, scope hash.
-- Rows: one per decision, oldest first.
-- Guarantee: one consistent state.
SELECT at_us, actor, action, reason, fence FROM {prefix}audit WHERE key = ? AND scope_hash = ? ORDER BY id
