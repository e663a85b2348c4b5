-- Erases attempts that came after their record was forgotten.
-- Parameters: :first, the first id of a batch; :headers of a forgotten record.
-- The last one is not known: servers that share writing leave ids out. What came later from others goes as well.
-- Result: nothing to decide by.
-- Guarantee: S24.
delete a from {attempts} a join {records} r on r.`key` = a.`key` and r.scope_hash = a.scope_hash
where a.id >= :first and r.response_kind = 'tombstone' and r.response_headers = :headers
