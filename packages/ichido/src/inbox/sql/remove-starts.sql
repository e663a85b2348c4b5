-- Removes the starts of a message that has become a dead letter: a consumer that replays it begins to count anew.
-- Parameters: :handler, :id.
-- Result: nothing to decide by.
-- Guarantee: in the transaction of `put-dead`.
delete from {prefix}inbox_starts where handler = :handler and id = :id
