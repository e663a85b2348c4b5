-- Marks events that a relay had in its hands when it died: from now on they leave in small batches
-- (`suspectBatchSize`). A second death in any other batch adds nothing.
-- Parameters: seqs.
-- Result: nothing to decide by.
-- Guarantee: in the transaction that ends the dead session.
update {prefix}outbox set crashes = 1 where seq in (:seqs) and crashes = 0
