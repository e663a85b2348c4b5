-- Parameters: keep_ms, limit.
select seq from {prefix}outbox_sent where sent_ms < {now} - :keep_ms order by sent_ms limit :limit
