-- How often a message was started without an end.
-- Parameters: :handler, :id.
-- Rows: one or none.
-- Guarantee: committed state, or that of the transaction.
select starts from {prefix}inbox_starts where handler = :handler and id = :id
