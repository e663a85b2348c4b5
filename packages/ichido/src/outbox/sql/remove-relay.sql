-- Ends a session: what it held and its lanes are free.
-- Parameters: session.
-- Result: nothing to decide by.
-- Guarantee: its relay finds no row in `hold`, and rolls its turn back.
delete from {prefix}outbox_relays where session = :session
