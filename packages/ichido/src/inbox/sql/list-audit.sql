-- Decisions about one message, oldest first.
-- Parameters: :any_handler (1 or 0), :handler, :id, :limit.
-- Rows: one for each.
-- Guarantee: reads what is about this id alone.
select at_ms, action, handler, id, topic, actor, reason from {prefix}inbox_audit
where id = :id and (:any_handler = 1 or handler = :handler) order by place limit :limit
