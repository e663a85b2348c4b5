-- Parameters: seq.
select seq, id, topic, lane, message_key, key_hash, attempts, crashes, last_error from {prefix}outbox where seq = :seq
