-- Removes events that the broker has taken over, by explicit numbers: an event that commits late is never swept along.
-- Row by row through the primary key: the server would read all rows of a short table, whatever hint it gets, and wait
-- for those of transactions that are still open.
-- Parameters: seqs.
-- Result: how many there were.
-- Guarantee: those numbers alone. One that is gone already is no error.
delete o from json_table('[:seqs]', '$[*]' columns (seq bigint path '$')) s
straight_join {prefix}outbox o on o.seq = s.seq
