-- Whether there is a letter of a message.
-- Parameters: :handler, :id, :print.
-- Rows: one or none.
-- Guarantee: reads no other letter.
select 1 as found from {prefix}inbox_dead where handler = :handler and id = :id and print = :print
