-- Lets a dead letter run again.
-- Parameters: :handler, :id, :print.
-- Result: nothing to decide by.
-- Guarantee: the row of a processed message is never touched.
delete from {prefix}inbox where handler = :handler and id = :id and print = :print and dead = 1
