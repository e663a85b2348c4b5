-- The pairs that a record is a part of.
-- Parameters: :key, :scopeHash.
-- Rows: one per pair, oldest first.
-- Guarantee: S22.
select t.* from {twins} t where t.first_key = :key and t.scope_hash = :scopeHash
union
select t.* from {twins} t where t.second_key = :key and t.scope_hash = :scopeHash
order by written_us, id
