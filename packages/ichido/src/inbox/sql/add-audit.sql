-- Notes a person's decision about a dead letter.
-- Parameters: :action, :handler, :id, :topic, :actor, :reason.
-- Result: one row.
-- Guarantee: in the transaction of the decision.
insert into {prefix}inbox_audit (at_ms, action, handler, id, topic, actor, reason)
values ({now}, :action, :handler, :id, :topic, :actor, :reason)
