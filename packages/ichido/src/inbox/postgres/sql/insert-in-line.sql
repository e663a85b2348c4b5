-- Takes a message for a handler, unless another one of its key waits: the first write of the handler's transaction. One
-- statement with the look at the line, because every message of an ordered subscription needs both.
-- Parameters: :handler, :line, :id, :print, :wait_ms as text.
-- Rows: one; `taken` is 3 where one waits and nothing was written, else as `insert` has it.
-- Guarantee: that of `insert`. The line is looked at first, as it was committed before.
select case
  when exists (select 1 from {prefix}inbox_parked where handler = :handler and line = :line) then 3
  else {prefix}inbox_take(:handler, :id, :print, :wait_ms)
end as taken
