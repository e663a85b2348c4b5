-- Sessions whose lease ran out. Whoever locks the row ends the session; its former owner finds no row and stops.
select session, claimed, alone from {prefix}outbox_relays where until_ms < {now}
limit 16 {skip-locked}
