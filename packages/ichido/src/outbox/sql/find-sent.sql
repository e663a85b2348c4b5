-- Keys of sent events that may name what is to be forgotten: it may be a part of another word.
-- Parameters: :value.
-- Rows: each key once.
-- Guarantee: committed state only; a key that is written meanwhile may be missing.
select distinct message_key from {prefix}outbox_sent
where message_key is not null and (message_key = :value or replace(message_key, :value, '') <> message_key)
