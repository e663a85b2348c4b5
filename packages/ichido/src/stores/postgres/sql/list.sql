-- A page of records in the order of the primary key, without bodies.
-- Parameters: tenant, principal, operation, key, state, key and scope hash of the former page's last record, how many.
-- Null asks for nothing.
-- Rows: whether this server is a standby, then the columns of a record (`row.ts`).
-- Guarantee: S17. One consistent state per page; locks nothing.
select {recorded}, ''::bytea
from {prefix}records r
where {wanted}
order by r.key, r.scope_hash
limit $8::integer
