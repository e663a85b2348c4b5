-- The last pause or its end: what people decided about the whole outbox stands in the audit under number 0.
-- Parameters: none.
-- Rows: one, or none where nobody ever paused it.
-- Guarantee: committed state only.
select action, actor, reason, at_ms from {prefix}outbox_audit where seq = 0 order by place desc limit 1
