-- What became of a message for a handler.
-- Parameters: :print, :handler, :id.
-- Rows: none, or one; `same` is 1 for the same content, `dead` 1 for a dead letter.
-- Guarantee: committed state only.
select case when print = :print then 1 else 0 end as same, dead from {prefix}inbox where handler = :handler and id = :id
