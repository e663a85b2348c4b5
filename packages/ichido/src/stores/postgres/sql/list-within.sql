-- A page of records in the order of the primary key, without bodies, that looks at so many records and no more.
-- Parameters: as in `list`, then how many are looked at.
-- Rows: none where nothing is left; else at least one: as in `list`, null where no record matches; then how many were
-- looked at, and key and scope hash of the last of them.
-- Guarantee: S17, but for pages that match nothing. One consistent state per page; locks nothing. No index knows callers or
-- operations: one that few records have would be looked for in all of them.
with looked as materialized (
  select r.key, r.scope_hash, {wanted} as is_wanted
  from {prefix}records r
  where $6::text is null or (r.key, r.scope_hash) > ($6::text collate "C", $7::bytea)
  order by r.key, r.scope_hash
  limit $9::integer
), page as materialized (
  select l.key, l.scope_hash from looked l where l.is_wanted order by l.key, l.scope_hash limit $8::integer
)
select {recorded}, ''::bytea, (select count(*) from looked), e.key, e.scope_hash
from (select l.key, l.scope_hash from looked l order by l.key desc, l.scope_hash desc limit 1) e
left join (page p join {prefix}records r on r.key = p.key and r.scope_hash = p.scope_hash) on true
order by r.key, r.scope_hash
