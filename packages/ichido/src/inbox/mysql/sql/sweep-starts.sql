-- Forgets starts that nobody asked about for the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded.
delete from {prefix}inbox_starts where at_ms < {now} - :age_ms order by at_ms limit :limit
