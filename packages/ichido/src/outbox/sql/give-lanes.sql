-- Parameters: session, lanes.
update {prefix}outbox_lanes set session = null where session = :session and lane in (:lanes)
