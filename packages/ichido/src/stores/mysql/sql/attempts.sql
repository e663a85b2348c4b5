-- The attempts of one record.
-- Parameters: :key, :scopeHash.
-- Rows: one per attempt, oldest first.
-- Guarantee: S21.
select a.* from {attempts} a where a.`key` = :key and a.scope_hash = :scopeHash order by a.written_us, a.id
