-- How many sessions there are, which share the lanes.
-- Parameters: none.
-- Rows: one.
-- Guarantee: none. Each relay counts anew when it looks after its session.
select count(*) as living from {prefix}outbox_relays
