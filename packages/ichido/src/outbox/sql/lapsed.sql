-- Sessions whose lease ran out. The relay that locks the row ends the session; the relay of that session finds no row
-- and stops.
-- Parameters: none.
-- Rows: one for each, at most 16.
-- Guarantee: one relay ends a session; rows that other relays have locked are passed over.
select session, claimed, alone from {prefix}outbox_relays where until_ms < {now}
limit 16 {skip-locked}
