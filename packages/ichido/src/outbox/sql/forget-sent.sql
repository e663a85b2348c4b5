-- Empties the keys of sent events that are what is to be forgotten.
-- Parameters: value.
-- Result: one row for each.
-- Guarantee: that they were sent, and when, stays.
update {prefix}outbox_sent set message_key = null where message_key = :value
