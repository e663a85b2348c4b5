-- Everything that people did, oldest first.
-- Parameters: place to start after; how old the first may be in us, or null; how many.
-- Rows: place, key, scope hash, then as in `audit`.
-- Guarantee: S23.
select a.place, a.key, a.scope_hash, floor(extract(epoch from a.at) * 1000)::bigint, a.actor, a.action, a.reason, a.fence
from {prefix}audit a
where a.place > $1::bigint
  and ($2::bigint is null or a.at >= clock_timestamp() - $2::bigint * interval '1 microsecond')
order by a.place
limit $3::integer
