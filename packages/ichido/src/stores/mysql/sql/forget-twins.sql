-- Erases the pairs of a record that is forgotten.
-- Parameters: :key, :scopeHash.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again.
delete from {twins} where scope_hash = :scopeHash and (first_key = :key or second_key = :key) limit 1000000
