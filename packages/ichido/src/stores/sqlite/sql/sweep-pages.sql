-- Removes pages of the attempt log that were kept as long as their longest record.
-- Parameters: now, limit.
-- Rows: none; one change per page.
-- Guarantee: S21.
DELETE FROM {prefix}log_pages WHERE place IN (SELECT place FROM {prefix}log_pages WHERE keep_us < ? ORDER BY keep_us LIMIT ?)
