-- Commit order per key for writers that do not lock the row the event is about; ends with the transaction.
-- Parameters: key_text (the hash of the key, in hex).
-- Rows: one, with nothing to decide by.
-- Guarantee: of two transactions that add events of a key, the one that commits later has the greater numbers.
select pg_advisory_xact_lock(hashtextextended(:key_text, 1))
