-- Parameters: session.
delete from {prefix}outbox_relays where session = :session
