-- What an operation made.
-- Parameters: :key, :scopeHash.
-- Rows: one per resource, in the order told.
-- Guarantee: S20.
select m.kind, m.id
from {resources} m join {records} r on r.`key` = m.`key` and r.scope_hash = m.scope_hash and r.life = m.life
where m.`key` = :key and m.scope_hash = :scopeHash
order by m.ordinal, m.kind, m.id
