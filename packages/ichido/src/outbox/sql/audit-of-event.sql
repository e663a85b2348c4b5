-- What people decided about an event, oldest first.
-- Parameters: id, limit.
-- Rows: one for each.
-- Guarantee: committed state only.
select seq, id, actor, action, reason, at_ms from {prefix}outbox_audit where id = :id order by place limit :limit
