-- What a key waited for is long over.
delete from {prefix}outbox_parked where until_ms < {now} - 86400000
