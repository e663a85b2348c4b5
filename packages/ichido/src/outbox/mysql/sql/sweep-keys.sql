-- Removes the rows of keys that `sweep-keys-lock` has locked.
-- Parameters: hashes (hex, as JSON).
-- Result: nothing to decide by.
-- Guarantee: no writer is at work under any of them.
delete k from json_table(:hashes, '$[*]' columns (hash char(32) path '$')) s
straight_join {prefix}outbox_keys k on k.key_hash = unhex(s.hash)
