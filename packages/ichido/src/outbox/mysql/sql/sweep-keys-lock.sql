-- Of those, the ones that nobody is writing under right now. Row by row through the primary key: a scan would lock them all.
-- Parameters: hashes (hex, as JSON), keep_ms.
select k.key_hash
from json_table(:hashes, '$[*]' columns (hash char(32) path '$')) s
straight_join {prefix}outbox_keys k on k.key_hash = unhex(s.hash)
where k.used_ms < {now} - :keep_ms
for update skip locked
