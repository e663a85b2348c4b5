-- One page of the attempt log.
-- Parameters: place.
-- Rows: one or none.
-- Guarantee: S22.
SELECT notes FROM {prefix}log_pages WHERE place = ?
