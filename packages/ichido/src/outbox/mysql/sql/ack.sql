-- Events that the broker has taken over. By explicit numbers: an event that commits late is never swept along. Through
-- the primary key whatever the statistics say: a scan would wait for rows of transactions that are still open.
-- Parameters: seqs.
delete o from {prefix}outbox o force index (primary) where o.seq in (:seqs)
