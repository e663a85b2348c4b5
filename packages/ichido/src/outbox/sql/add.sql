-- Writes one event beside the caller's own rows. A delay counts from now, by this database's clock.
-- Parameters: id, topic, lane, message_key, key_hash (null: no order to keep), envelope, payload, delay_ms (null: none).
-- Result: one row.
-- Guarantee: in the caller's transaction: committed with its rows, or not at all.
insert into {prefix}outbox (id, topic, lane, message_key, key_hash, envelope, payload, due_ms, added_ms)
values (:id, :topic, :lane, :message_key, :key_hash, :envelope, :payload, {now} + :delay_ms, {now})
