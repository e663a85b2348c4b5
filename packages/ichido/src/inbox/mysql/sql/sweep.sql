-- Forgets what was processed longer ago than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: bounded.
delete from {prefix}inbox where processed_ms < {now} - :age_ms order by processed_ms limit :limit
