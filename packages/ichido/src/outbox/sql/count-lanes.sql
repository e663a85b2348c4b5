-- How many lanes there are.
-- Parameters: none.
-- Rows: one.
-- Guarantee: committed state only.
select count(*) as lanes from {prefix}outbox_lanes
