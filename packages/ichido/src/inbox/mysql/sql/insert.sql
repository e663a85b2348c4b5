-- Takes a message for a handler: the first write of the handler's transaction.
-- Parameters: :handler, :id, :print.
-- Result: one row, or the error 1062: the table has no unique key but its primary one.
-- Guarantee: of two transactions that take the same message one gets it; the other waits for the first to end.
-- {wait} bounds the wait on MariaDB, in whole seconds; MySQL waits for as long as its session says.
{wait} insert into {prefix}inbox (handler, id, print, dead, processed_ms) values (:handler, :id, :print, 0, {now})
