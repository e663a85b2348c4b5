-- Keys that wait, oldest first.
-- Parameters: limit.
-- Rows: one for each, up to the limit.
-- Guarantee: committed state only.
select topic, message_key, seq, reason, last_error, since_ms, until_ms from {prefix}outbox_parked
order by since_ms limit :limit
