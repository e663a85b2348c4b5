-- Sessions whose lease ran out. Whoever locks the row ends the session; its former owner finds no row and stops.
-- Parameters: none.
-- Rows: one for each, at most 16.
-- Guarantee: a session is ended by one relay; what others are at is passed over.
select session, claimed, alone from {prefix}outbox_relays where until_ms < {now}
limit 16 {skip-locked}
