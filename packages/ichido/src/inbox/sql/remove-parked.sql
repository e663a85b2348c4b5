-- Removes a parked message that has its outcome: the next of its key may go.
-- Parameters: :place.
-- Result: nothing to decide by.
-- Guarantee: none.
delete from {prefix}inbox_parked where place = :place
