-- Keys that no writer has locked for long. Without locks: writers must not wait for a reading of the whole table.
-- Parameters: keep_ms, limit.
select key_hash from {prefix}outbox_keys where used_ms < {now} - :keep_ms limit :limit
