-- How many steps were started under the present life of a record.
-- Parameters: :key, :scopeHash.
-- Rows: one.
-- Guarantee: one consistent state.
select count(*) as started
from {records} r join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life
where r.`key` = :key and r.scope_hash = :scopeHash and {happened}
