-- The lanes of a session.
-- Parameters: session.
-- Rows: one for each.
-- Guarantee: committed state, or that of the transaction.
select lane from {prefix}outbox_lanes where session = :session order by lane
