-- Forgets sent events.
-- Parameters: seqs.
-- Result: nothing to decide by.
-- Guarantee: those numbers alone.
delete from {prefix}outbox_sent where seq in (:seqs)
