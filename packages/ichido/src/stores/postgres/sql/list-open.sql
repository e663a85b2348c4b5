-- A page of records that are not completed, in the order of the primary key, without bodies.
-- Parameters: as in `list`.
-- Rows: as in `list`.
-- Guarantee: S17. One consistent state per page; locks nothing.
select {recorded}, ''::bytea
from {prefix}find_open() f
join {prefix}records r on r.key = f.open_key and r.scope_hash = f.open_scope
where {wanted}
order by r.key, r.scope_hash
limit $8::integer
