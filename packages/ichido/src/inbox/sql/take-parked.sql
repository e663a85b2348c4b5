-- Takes a message up for an attempt.
-- Parameters: :place, :hold_ms.
-- Result: one row, or none where another process was faster.
-- Guarantee: a hint alone. That it takes effect once is the message's own row.
update {prefix}inbox_parked set due_ms = {now} + :hold_ms where place = :place and due_ms <= {now}
