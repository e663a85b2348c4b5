-- Removes one dead letter in the state in which it was seen.
-- Parameters: :handler, :id, :print, :state.
-- Result: one row or none.
-- Guarantee: of two people who saw it in this state, one to replay and one to discard it, one succeeds.
delete from {prefix}inbox_dead where handler = :handler and id = :id and print = :print and state = :state
