-- Erases attempts that came after their record was forgotten.
-- Parameters: :first and :last, the ids of a batch; :headers of a forgotten record.
-- Result: nothing to decide by.
-- Guarantee: S24.
delete a from {attempts} a join {records} r on r.`key` = a.`key` and r.scope_hash = a.scope_hash
where a.id between :first and :last and r.response_kind = 'tombstone' and r.response_headers = :headers
