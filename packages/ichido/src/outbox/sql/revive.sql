-- Puts a dead letter back into its old place: the same number, so that it comes before what waited behind it.
-- Parameters: seq.
-- Result: one row, or none where the letter is gone.
-- Guarantee: in the transaction of `remove-dead`.
insert into {prefix}outbox (seq, id, topic, lane, message_key, key_hash, envelope, payload, due_ms, attempts, crashes, last_error, added_ms)
select seq, id, topic, lane, message_key, key_hash, envelope, payload, null, 0, 0, last_error, added_ms
from {prefix}outbox_dead where seq = :seq
