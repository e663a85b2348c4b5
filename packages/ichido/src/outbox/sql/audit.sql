-- What people decided about a dead letter, oldest first.
-- Parameters: seq.
-- Rows: one for each.
-- Guarantee: committed state only.
select seq, id, actor, action, reason, at_ms from {prefix}outbox_audit where seq = :seq order by place
