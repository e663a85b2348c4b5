-- Makes an event that cannot be delivered yet due again later, at no cost in attempts.
-- Parameters: seq, error, delay_ms (null for an ordered event).
-- Result: nothing to decide by.
-- Guarantee: in a turn, which its session fences.
update {prefix}outbox set last_error = :error, due_ms = {now} + :delay_ms where seq = :seq
