-- Parameters: seq.
select seq, id, actor, action, reason, at_ms from {prefix}outbox_audit where seq = :seq order by place
