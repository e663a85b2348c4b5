-- An attempt has ended, whatever its outcome.
-- Parameters: :handler, :id.
-- Result: nothing to decide by.
-- Guarantee: none.
delete from {prefix}inbox_starts where handler = :handler and id = :id
