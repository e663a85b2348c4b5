-- Empties the reasons in the audit of a record that is forgotten, up to its own: who did what and when stays.
-- Parameters: :key, :scopeHash, :action, the word for forgetting.
-- Result: nothing to decide by.
-- Guarantee: S24. May be run again: what is said of the record after that stays.
update {audit} a
join (
  select f.id, f.at_us from {audit} f
  where f.`key` = :key and f.scope_hash = :scopeHash and f.action = :action and f.at_us is not null
  order by f.at_us desc, f.id desc
  limit 1
) as last on last.id <> a.id
set a.reason = ''
where a.`key` = :key and a.scope_hash = :scopeHash and (a.at_us is null or a.at_us <= last.at_us)
