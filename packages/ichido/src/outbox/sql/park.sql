-- Parks a key for a while or (null) until a person decides. Only later events of this key are held back.
-- Parameters: key_hash, topic, message_key, seq, delay_ms (null: without end), reason, error.
-- Result: nothing to decide by.
-- Guarantee: one row for each key: the latest event that parks it.
insert into {prefix}outbox_parked (key_hash, topic, message_key, seq, reason, last_error, since_ms, until_ms)
values (:key_hash, :topic, :message_key, :seq, :reason, :error, {now}, {now} + :delay_ms)
on conflict (key_hash) do update
set seq = excluded.seq, reason = excluded.reason, last_error = excluded.last_error, until_ms = excluded.until_ms
