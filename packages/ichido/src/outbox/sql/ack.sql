-- Removes events that the broker has taken over, by explicit numbers: an event that commits late is never swept along.
-- Parameters: seqs.
-- Result: how many there were.
-- Guarantee: those numbers alone. One that is gone already is no error.
delete from {prefix}outbox where seq in (:seqs)
