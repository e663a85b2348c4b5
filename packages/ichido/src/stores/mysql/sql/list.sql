-- One page of records.
-- Parameters: those of {filters}; :limit. {source} is what is walked in the order of keys: all records, or those which a
--   label may belong to.
-- Rows: up to :limit, ordered by key, then by scope hash; without bodies.
-- Guarantee: S17. One consistent state per page; locks nothing.
select {listed}
from {source}
where {filters}
order by r.`key`, r.scope_hash
limit :limit
