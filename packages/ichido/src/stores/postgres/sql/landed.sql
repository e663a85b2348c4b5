-- The record as it is once no transaction is writing it: waits for the transaction that holds its row.
-- Parameters: key, scope hash, lock timeout in ms.
-- Rows: state, owner, fence; none when there is no record. Raises 55P03 when the row did not come free in time.
-- Guarantee S19: a transaction that completes the record has its row until its end. Grants and changes nothing.
with patience as materialized (select set_config('lock_timeout', $3::text, true))
select r.state, replace(r.owner::text, '-', ''), r.fence
from patience, {prefix}records r
where r.key = $1::text and r.scope_hash = $2::bytea
for no key update of r
