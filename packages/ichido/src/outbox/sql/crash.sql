-- Counts the death of a relay that had this suspect in its hands, alone or in a small batch.
-- Parameters: seq, error, delay_ms (null for an ordered event, and where it was in a batch).
-- Result: nothing to decide by.
-- Guarantee: in the transaction that ends the dead session, so that a death is counted once.
update {prefix}outbox set crashes = crashes + 1, last_error = :error, due_ms = {now} + :delay_ms where seq = :seq
