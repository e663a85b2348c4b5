-- Empties the reasons in the audit of a record that is forgotten, but for its own: who did what and when stays.
-- Parameters: :key, :scopeHash, :action, the word for forgetting.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again.
update {audit} set reason = '' where `key` = :key and scope_hash = :scopeHash and action <> :action
