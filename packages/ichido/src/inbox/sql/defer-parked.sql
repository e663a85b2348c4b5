-- Notes that an attempt failed: the next one comes after a while.
-- Parameters: :place, :attempts, :error, :delay_ms.
-- Result: nothing to decide by.
-- Guarantee: the count never falls, however late or often this statement runs.
update {prefix}inbox_parked set attempts = :attempts, error = :error, due_ms = {now} + :delay_ms
where place = :place and attempts < :attempts
