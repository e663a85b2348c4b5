-- Parameters: seq, id, actor, action, reason.
insert into {prefix}outbox_audit (seq, id, actor, action, reason, at_ms)
values (:seq, :id, :actor, :action, :reason, {now})
