-- Events that the broker has taken over. By explicit numbers: an event that commits late is never swept along.
-- Parameters: seqs.
delete from {prefix}outbox where seq in (:seqs)
