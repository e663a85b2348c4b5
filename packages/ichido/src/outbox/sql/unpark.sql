-- Lets a key go on, only for the event that parked it: a later decision stays.
-- Parameters: key_hash, seq.
-- Result: nothing to decide by.
-- Guarantee: a key that waits for another event goes on waiting.
delete from {prefix}outbox_parked where key_hash = :key_hash and seq = :seq
