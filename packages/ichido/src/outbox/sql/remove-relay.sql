-- Ends a session: what it held and its lanes are free.
-- Parameters: session.
-- Result: nothing to decide by.
-- Guarantee: its former owner finds no row in `hold`, and its turn is rolled back.
delete from {prefix}outbox_relays where session = :session
