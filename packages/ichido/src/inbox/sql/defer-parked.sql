-- An attempt failed: the next one after a while.
-- Parameters: :place, :attempts, :error, :delay_ms.
-- Result: nothing to decide by.
-- Guarantee: the count never falls, however late or often it is told.
update {prefix}inbox_parked set attempts = :attempts, error = :error, due_ms = {now} + :delay_ms
where place = :place and attempts < :attempts
