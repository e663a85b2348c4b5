-- Gives back some lanes of a session, for others to take.
-- Parameters: session, lanes.
-- Result: nothing to decide by.
-- Guarantee: lanes that another session took meanwhile stay with it.
update {prefix}outbox_lanes set session = null where session = :session and lane in (:lanes)
