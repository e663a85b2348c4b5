-- One page of the attempt log.
-- Parameters: place.
-- Rows: its notes, or none.
-- Guarantee: S22.
select p.notes from {prefix}log_pages p where p.place = $1::bigint
