-- A relay died with this one alone in its hands.
-- Parameters: seq, error, delay_ms (null for an ordered event).
update {prefix}outbox set crashes = crashes + 1, last_error = :error, due_ms = {now} + :delay_ms where seq = :seq
