-- Notes what a person decided about a dead letter.
-- Parameters: seq, id, actor, action, reason.
-- Result: one row.
-- Guarantee: in the transaction of the decision.
insert into {prefix}outbox_audit (seq, id, actor, action, reason, at_ms)
values (:seq, :id, :actor, :action, :reason, {now})
