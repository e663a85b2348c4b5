-- Appends to the audit. A key of no characters: it is about no single record.
-- Parameters: :key, :scopeHash, :fence, :actor, :action, :reason.
-- Result: nothing to decide by.
-- Guarantee: S23.
insert into {audit} (`key`, scope_hash, fence, actor, action, reason, at_us)
values (:key, :scopeHash, :fence, :actor, :action, :reason, {now})
