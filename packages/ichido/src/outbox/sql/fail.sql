-- Counts the refusal of an event and makes it due again later. An ordered one has no time of its own: it waits by its
-- parked key.
-- Parameters: seq, attempts, error, delay_ms (null for an ordered event).
-- Result: nothing to decide by.
-- Guarantee: in a turn, which its session fences.
update {prefix}outbox
set attempts = :attempts, last_error = :error, due_ms = {now} + :delay_ms
where seq = :seq
