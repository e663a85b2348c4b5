-- A page of records whose operation made a resource.
-- Parameters: as in `list`, then kind, id, and a label as a JSON object or null.
-- Rows: as in `list`.
-- Guarantee: S17, S20, S25.
with made as materialized (
  select m.key, m.scope_hash, m.life from {prefix}resources m where m.kind = $9::text and m.id = $10::text
)
select {recorded}, ''::bytea
from made
join {prefix}records r on r.key = made.key and r.scope_hash = made.scope_hash and r.life = made.life
where {wanted} and ($11::text is null or r.labels @> $11::text::jsonb)
order by r.key, r.scope_hash
limit $8::integer
