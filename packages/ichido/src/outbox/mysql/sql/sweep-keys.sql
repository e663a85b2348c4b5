-- Parameters: hashes (hex, as JSON).
delete k from json_table(:hashes, '$[*]' columns (hash char(32) path '$')) s
straight_join {prefix}outbox_keys k on k.key_hash = unhex(s.hash)
