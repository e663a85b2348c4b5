-- Empties a key of sent events.
-- Parameters: :key, as `find-sent` tells it.
-- Result: one row for each.
-- Guarantee: that they were sent, and when, stays.
update {prefix}outbox_sent set message_key = null where message_key = :key
