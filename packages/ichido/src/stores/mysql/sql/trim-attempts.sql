-- Removes what is past the bound of one record: of runs, or of all other answers.
-- Parameters: :key, :scopeHash, :isRun as 0 or 1, :kept.
-- Result: nothing to decide by.
-- Guarantee: S21.
delete from {attempts}
where `key` = :key and scope_hash = :scopeHash and (outcome = 'executed') = :isRun and id <= (
  select last.id from (
    select a.id from {attempts} a
    where a.`key` = :key and a.scope_hash = :scopeHash and (a.outcome = 'executed') = :isRun
    order by a.id desc limit 1 offset :kept
  ) last
)
