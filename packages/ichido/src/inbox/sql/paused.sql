-- The last pause or its end: what people decided about the whole inbox stands in the audit without a handler.
-- Parameters: none.
-- Rows: one, or none where nobody ever paused it.
-- Guarantee: committed state only.
select action, actor, reason, at_ms from {prefix}inbox_audit where handler = '' order by place desc limit 1
