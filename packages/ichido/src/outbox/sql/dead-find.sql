-- One dead letter, whole.
-- Parameters: seq.
-- Rows: one or none.
-- Guarantee: committed state, or that of the transaction.
select seq, id, topic, message_key, key_hash, envelope, payload, attempts, crashes, reason, last_error, added_ms, dead_ms
from {prefix}outbox_dead where seq = :seq
