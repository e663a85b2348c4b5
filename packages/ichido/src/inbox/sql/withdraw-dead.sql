-- Removes a letter of a message that was processed all the same.
-- Parameters: :handler, :id, :print.
-- Result: one row or none.
-- Guarantee: a letter that is to be replayed stays: the consumer that replays it finds what became of it, and removes
--   it.
delete from {prefix}inbox_dead where handler = :handler and id = :id and print = :print and state = 'dead'
