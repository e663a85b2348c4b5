-- Erases the pairs of a record that is forgotten.
-- Parameters: :key, :scopeHash; :fence, the one that was forgotten: whoever runs under the key since has a later life.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again. What was noted since a later life began stays.
delete from {twins}
where scope_hash = :scopeHash and (first_key = :key or second_key = :key)
  and not exists ({later} and r.created_us <= {twins}.written_us)
limit 1000000
