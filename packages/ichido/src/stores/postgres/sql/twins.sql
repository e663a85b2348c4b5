-- The pairs that a record is a part of, oldest first.
-- Parameters: key, scope hash.
-- Rows: the columns of a pair.
-- Guarantee: S22.
select {paired}
from {prefix}twins t
where (t.first_key = $1::text and t.scope_hash = $2::bytea) or (t.second_key = $1::text and t.scope_hash = $2::bytea)
order by t.written_at, t.place
