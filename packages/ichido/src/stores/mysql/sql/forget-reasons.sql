-- Empties the reasons in the audit of a record that is forgotten, but for its own: who did what and when stays.
-- Parameters: :key, :scopeHash, :action, the word for forgetting; :fence, the one that was forgotten: whoever runs under the
--   key since has a later life.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again. What was done since a later life began stays, unless it names a fence of the former one. A
--   proposal has no time yet.
update {audit} set reason = ''
where `key` = :key and scope_hash = :scopeHash and action <> :action
  and (fence between 1 and :fence or not exists ({later} and (at_us is null or r.created_us <= at_us)))
