-- Takes a message for a handler: the first write of the handler's transaction.
-- Parameters: :handler, :id, :print, :wait_ms as text.
-- Rows: one; `taken` is 2 for the first, 1 for a duplicate, 0 for a conflict, null where it is to be tried again.
-- Guarantee: of two transactions that take the same message one gets it; the other waits for the first to end.
select {prefix}inbox_take(:handler, :id, :print, :wait_ms) as taken
