-- Marks events that a relay had in its hands when it died: from now on they leave in small batches
-- (`suspectBatchSize`). A second death in any other batch adds nothing. Row by row through the primary key: the server
-- would read all rows of a short table, whatever hint it gets, and wait for those of transactions that are still open.
-- Parameters: seqs.
-- Result: nothing to decide by.
-- Guarantee: in the transaction that ends the dead session.
update json_table('[:seqs]', '$[*]' columns (seq bigint path '$')) s
straight_join {prefix}outbox o on o.seq = s.seq
set o.crashes = 1
where o.crashes = 0
