-- One record, as it is.
-- Parameters: key, scope hash.
-- Rows: exactly one: whether this server is a standby, then the columns of a record (`row.ts`), null when absent.
-- Guarantee: one consistent state; locks and writes nothing.
select {recorded}, r.response_body
from (select) as always
left join {prefix}records r on r.key = $1::text and r.scope_hash = $2::bytea
