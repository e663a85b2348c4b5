-- The last of what there is of a record that is forgotten: its labels, by which the rest of them could be found until now.
-- Parameters: :key, :scopeHash; :fence, the one that was forgotten: whoever runs under the key since has a later life.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again.
update {records} set labels = null where `key` = :key and scope_hash = :scopeHash and life <= :fence
