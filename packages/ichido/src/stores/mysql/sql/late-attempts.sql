-- Attempts that came after their record was forgotten.
-- Parameters: :first, the first id of a batch; :headers of a forgotten record.
-- The last one is not known: servers that share writing leave ids out. What came later from others is told as well.
-- Rows: id.
-- Guarantee: S24, with `sweep-log`. Locks nothing: to delete here would lock the records, and wait for one that is locked.
select a.id from {attempts} a join {records} r on r.`key` = a.`key` and r.scope_hash = a.scope_hash
where a.id >= :first and r.response_kind = 'tombstone' and r.response_headers = :headers
