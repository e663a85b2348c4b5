-- What an operation made, in the order told.
-- Parameters: key, scope hash.
-- Rows: kind, id.
-- Guarantee: S20.
select m.kind, m.id
from {prefix}resources m
join {prefix}records r on r.key = m.key and r.scope_hash = m.scope_hash and r.life = m.life
where m.key = $1::text and m.scope_hash = $2::bytea
order by m.ordinal
