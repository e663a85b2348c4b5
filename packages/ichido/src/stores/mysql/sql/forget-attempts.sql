-- Erases what there is of a record that is forgotten.
-- Parameters: :key, :scopeHash; :fence, the one that was forgotten: whoever runs under the key since has a later life.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again. What was noted since a later life began stays, unless it names a fence of the former one.
delete from {attempts}
where `key` = :key and scope_hash = :scopeHash
  and (fence <= :fence or not exists ({later} and r.created_us <= {attempts}.written_us))
