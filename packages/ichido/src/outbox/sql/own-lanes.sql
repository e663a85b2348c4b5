-- Parameters: session.
select lane from {prefix}outbox_lanes where session = :session order by lane
