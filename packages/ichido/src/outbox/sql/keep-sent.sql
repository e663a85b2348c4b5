-- Remembers what is about to be removed as sent.
-- Parameters: seqs.
-- Result: nothing to decide by.
-- Guarantee: in the transaction of `ack`, before it.
insert into {prefix}outbox_sent (seq, id, topic, message_key, added_ms, sent_ms)
select seq, id, topic, message_key, added_ms, {now} from {prefix}outbox where seq in (:seqs)
