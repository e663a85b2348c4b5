-- Remembers what is about to be removed as sent. Row by row through the primary key: the server would read all rows of
-- a short table, whatever hint it gets, and wait for those of transactions that are still open.
-- Parameters: seqs.
-- Result: nothing to decide by.
-- Guarantee: in the transaction of `ack`, before it.
insert into {prefix}outbox_sent (seq, id, topic, message_key, added_ms, sent_ms)
select o.seq, o.id, o.topic, o.message_key, o.added_ms, {now}
from json_table('[:seqs]', '$[*]' columns (seq bigint path '$')) s
straight_join {prefix}outbox o on o.seq = s.seq
