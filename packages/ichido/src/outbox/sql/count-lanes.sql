-- How many lanes there are.
select count(*) as lanes from {prefix}outbox_lanes
