-- What a relay must know of an event to park it or to make it a dead letter.
-- Parameters: seq.
-- Rows: one, or none where it is gone.
-- Guarantee: committed state, or that of the transaction.
select seq, id, topic, lane, message_key, key_hash, attempts, crashes, last_error from {prefix}outbox where seq = :seq
