-- Keys that no writer has locked for long. Without locks: writers must not wait for a reading of the whole table.
-- Parameters: keep_ms, limit.
-- Rows: one for each, up to the limit.
-- Guarantee: a hint alone: `sweep-keys-lock` decides.
select key_hash from {prefix}outbox_keys where used_ms < {now} - :keep_ms limit :limit
