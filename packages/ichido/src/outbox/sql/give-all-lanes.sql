-- Gives back all lanes of a session.
-- Parameters: session.
-- Result: nothing to decide by.
-- Guarantee: lanes that another session took meanwhile stay with it.
update {prefix}outbox_lanes set session = null where session = :session
