-- Removes the start of an attempt that has ended, whatever its outcome.
-- Parameters: :handler, :id, :token.
-- Result: nothing to decide by.
-- Guarantee: other attempts' starts stay.
delete from {prefix}inbox_starts where handler = :handler and id = :id and token = :token
