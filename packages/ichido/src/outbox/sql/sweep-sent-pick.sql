-- Sent events that were remembered for long enough, oldest first.
-- Parameters: keep_ms, limit.
-- Rows: one for each, up to the limit.
-- Guarantee: none.
select seq from {prefix}outbox_sent where sent_ms < {now} - :keep_ms order by sent_ms limit :limit
