-- Commit order per key for writers that do not lock the row the event is about: the row of the key is locked until the
-- transaction ends.
-- Parameters: key_hash.
insert into {prefix}outbox_keys (key_hash, used_ms) values (:key_hash, {now}) on duplicate key update used_ms = {now}
