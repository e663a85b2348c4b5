-- When a page was written.
-- Parameters: :id.
-- Rows: one.
-- Guarantee: S22.
select p.written_us from {log_pages} p where p.id = :id
