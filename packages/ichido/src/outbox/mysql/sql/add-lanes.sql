-- Parameters: lane.
insert into {prefix}outbox_lanes (lane) values (:lane) on duplicate key update lane = lane
