-- Commit order per key for writers that do not lock the row the event is about; ends with the transaction.
-- Parameters: key_text (the hash of the key, in hex).
select pg_advisory_xact_lock(hashtextextended(:key_text, 1))
