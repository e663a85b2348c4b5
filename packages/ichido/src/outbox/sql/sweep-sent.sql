-- Parameters: seqs.
delete from {prefix}outbox_sent where seq in (:seqs)
