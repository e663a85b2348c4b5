-- Erases what there is of a record that is forgotten.
-- Parameters: :key, :scopeHash.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again.
delete from {attempts} where `key` = :key and scope_hash = :scopeHash
