-- Commit order per key for writers that do not lock the row the event is about: the row of the key is locked until the
-- transaction ends.
-- Parameters: key_hash.
-- Result: nothing to decide by.
-- Guarantee: of two transactions that add events of a key, the one that commits later has the greater numbers.
insert into {prefix}outbox_keys (key_hash, used_ms) values (:key_hash, {now}) on duplicate key update used_ms = {now}
