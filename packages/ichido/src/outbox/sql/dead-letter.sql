-- Keeps an event that is given up, whole, with its error. The caller removes it from the outbox in the same transaction.
-- Parameters: seq, reason, error, attempts, crashes.
-- Result: one row, or none where the event is gone.
-- Guarantee: the same number, so that it can go back to its place.
insert into {prefix}outbox_dead
  (seq, id, topic, lane, message_key, key_hash, envelope, payload, attempts, crashes, reason, last_error, added_ms, dead_ms)
select seq, id, topic, lane, message_key, key_hash, envelope, payload, :attempts, :crashes, :reason, :error, added_ms, {now}
from {prefix}outbox where seq = :seq
