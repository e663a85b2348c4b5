-- Removes one attempt whose record is gone.
-- Parameters: place.
-- Rows: none; one change.
-- Guarantee: S21.
DELETE FROM {prefix}attempts WHERE place = ?
