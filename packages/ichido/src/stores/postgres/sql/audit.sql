-- What people decided about a record, oldest first.
-- Parameters: key, scope hash.
-- Rows: at ms, actor, action, reason, fence.
-- Guarantee: one consistent state.
select floor(extract(epoch from at) * 1000)::bigint, actor, action, reason, fence
from {prefix}audit
where key = $1::text and scope_hash = $2::bytea
order by place
