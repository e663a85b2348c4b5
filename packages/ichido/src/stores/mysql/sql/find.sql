-- One whole record.
-- Parameters: :key, :scopeHash.
-- Rows: one or none.
-- Guarantee: one consistent state; locks and writes nothing.
select {listed}, r.response_body
from {records} r
where r.`key` = :key and r.scope_hash = :scopeHash
