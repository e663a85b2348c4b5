-- Of those keys, the ones that no transaction is writing under right now. Row by row through the primary key: a scan
-- would lock them all.
-- Parameters: hashes (hex, as JSON), keep_ms.
-- Rows: one for each that is still old and was free.
-- Guarantee: never waits. The rows stay locked until the transaction ends.
select k.key_hash
from json_table(:hashes, '$[*]' columns (hash char(32) path '$')) s
straight_join {prefix}outbox_keys k on k.key_hash = unhex(s.hash)
where k.used_ms < {now} - :keep_ms
for update skip locked
