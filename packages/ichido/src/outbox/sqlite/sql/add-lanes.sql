-- Parameters: lane.
insert into {prefix}outbox_lanes (lane) values (:lane) on conflict (lane) do nothing
