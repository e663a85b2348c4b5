-- Counts the start of a redelivered message before it runs: a process that dies leaves the count behind.
-- Parameters: :handler, :id.
-- Result: nothing to decide by.
-- Guarantee: committed before the handler runs.
insert into {prefix}inbox_starts (handler, id, starts, at_ms) values (:handler, :id, 1, {now})
on duplicate key update starts = starts + 1, at_ms = {now}
