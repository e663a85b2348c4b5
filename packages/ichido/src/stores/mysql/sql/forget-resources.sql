-- Erases what there is of a record that is forgotten.
-- Parameters: :key, :scopeHash; :fence, the one that was forgotten: whoever runs under the key since has a later life.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again.
delete from {resources} where `key` = :key and scope_hash = :scopeHash and life <= :fence
