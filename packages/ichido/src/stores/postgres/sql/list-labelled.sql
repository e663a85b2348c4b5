-- A page of records that have a label.
-- Parameters: as in `list`, then the label as a JSON object.
-- Rows: as in `list`.
-- Guarantee: S17, S25. They are found by the index of labels first, whatever the planner believes of how many there are: a
-- walk in the order of keys would read every record on the way.
with labelled as materialized (
  select l.key, l.scope_hash from {prefix}records l where l.labels @> $9::text::jsonb
)
select {recorded}, ''::bytea
from labelled
join {prefix}records r on r.key = labelled.key and r.scope_hash = labelled.scope_hash
where {wanted}
order by r.key, r.scope_hash
limit $8::integer
