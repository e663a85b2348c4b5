-- Decisions about one message, oldest first.
-- Parameters: :handler, :id, :limit.
-- Rows: one for each.
-- Guarantee: none.
select at_ms, action, handler, id, topic, actor, reason from {prefix}inbox_audit
where handler = :handler and id = :id order by place limit :limit
