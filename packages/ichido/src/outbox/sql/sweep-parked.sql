-- Removes parked keys whose wait is long over.
-- Parameters: none.
-- Result: nothing to decide by.
-- Guarantee: a key that waits for a person (null) stays.
delete from {prefix}outbox_parked where until_ms < {now} - 86400000
