-- Notes what an operation made. Before the verb that tells it, but on the user's transaction after the completion.
-- Parameters: :kind, :id, :ordinal; the claim.
-- Result: one affected row where it is new.
-- Guarantee: S5, S20, S24. Noted once, whatever is sent again, and for the owner alone: the record may have been taken, or
--   forgotten, since `made`. Reads it with a lock of its own, in any isolation level; on the user's transaction its
--   completion has locked it before.
insert ignore into {resources} (kind, id, `key`, scope_hash, life, ordinal)
select :kind, :id, r.`key`, r.scope_hash, r.life, :ordinal
from {records} r
where r.`key` = :key and r.scope_hash = :scopeHash and r.owner = :owner and r.fence = :fence and r.state <> 'failed'
lock in share mode
