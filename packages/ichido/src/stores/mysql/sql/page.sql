-- One page of the attempt log.
-- Parameters: :id.
-- Rows: one or none.
-- Guarantee: S22.
select p.notes from {log_pages} p where p.id = :id
