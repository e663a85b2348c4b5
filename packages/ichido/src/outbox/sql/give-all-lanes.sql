-- Parameters: session.
update {prefix}outbox_lanes set session = null where session = :session
