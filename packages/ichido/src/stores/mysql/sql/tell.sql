-- Notes what an operation made, for the owner of the record alone. Before the verb that tells it, but on the user's
-- transaction after the completion: a shared lock that becomes an exclusive one meets the heartbeat in a circle.
-- Parameters: :kind, :id, :ordinal; the claim; :most, the most resources of a record.
-- Result: nothing to decide by.
-- Guarantee: S20. Noted once, whatever is sent again.
insert ignore into {resources} (kind, id, `key`, scope_hash, life, ordinal)
select :kind, :id, r.`key`, r.scope_hash, r.life, known.made + :ordinal
from {records} r, (
  select count(*) as made from {resources} m join {records} o on o.`key` = m.`key` and o.scope_hash = m.scope_hash
  where m.`key` = :key and m.scope_hash = :scopeHash and m.life = o.life
) known
where r.`key` = :key and r.scope_hash = :scopeHash and r.owner = :owner and r.fence = :fence
  and r.state <> 'failed' and known.made < :most
