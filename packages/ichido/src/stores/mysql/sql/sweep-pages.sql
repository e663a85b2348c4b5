-- Removes pages of the attempt log that were kept as long as their longest record.
-- Parameters: :limit.
-- Result: one change per page.
-- Guarantee: S21.
delete from {log_pages} where keep_us < {now} order by keep_us limit :limit
