-- Makes one of the lanes, where it is missing.
-- Parameters: lane.
-- Result: nothing to decide by.
-- Guarantee: may be run again.
insert into {prefix}outbox_lanes (lane) values (:lane) on conflict (lane) do nothing
