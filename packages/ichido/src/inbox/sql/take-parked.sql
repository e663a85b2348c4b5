-- Takes a message up for an attempt.
-- Parameters: :place, :hold_ms.
-- Result: one row, or none where another process was faster.
-- Guarantee: a hint alone. The message's own row makes sure that it takes effect once.
update {prefix}inbox_parked set due_ms = {now} + :hold_ms where place = :place and due_ms <= {now}
