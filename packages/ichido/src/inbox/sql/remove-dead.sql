-- Removes one dead letter.
-- Parameters: :handler, :id, :print.
-- Result: one row or none.
-- Guarantee: none.
delete from {prefix}inbox_dead where handler = :handler and id = :id and print = :print
