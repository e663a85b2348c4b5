-- Whether a record changed in a way that a caller may wait for.
-- Parameters: :key, :scopeHash.
-- Rows: one or none.
-- Guarantee: a hint; the claim that follows decides.
select state, fence, updated_us, {live} as live from {records} where `key` = :key and scope_hash = :scopeHash
