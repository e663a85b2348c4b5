-- Parameters: seq.
delete from {prefix}outbox_dead where seq = :seq
