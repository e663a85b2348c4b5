-- Removes processes that have not been heard of for long.
-- Parameters: :keptUs, :limit.
-- Result: one change per process.
-- Guarantee: S21.
delete from {processes} where seen_us < {now} - :keptUs limit :limit
