-- How many resources a record has, for its owner alone. Reads without a lock: on the user's transaction a lock on what others
-- write at the same time would meet theirs in a circle.
-- Parameters: the claim.
-- Rows: one or none: how many.
-- Guarantee: S20.
select (
  select count(*) from {resources} m where m.`key` = r.`key` and m.scope_hash = r.scope_hash and m.life = r.life
) as made
from {records} r
where r.`key` = :key and r.scope_hash = :scopeHash and r.owner = :owner and r.fence = :fence and r.state <> 'failed'
