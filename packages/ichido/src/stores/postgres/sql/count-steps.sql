-- How many steps were started under the present life of a record.
-- Parameters: key, scope hash.
-- Rows: one.
-- Guarantee: one consistent state.
select count(*)
from {prefix}records r
join {prefix}steps s on s.key = r.key and s.scope_hash = r.scope_hash and s.life = r.life
where r.key = $1::text and r.scope_hash = $2::bytea
