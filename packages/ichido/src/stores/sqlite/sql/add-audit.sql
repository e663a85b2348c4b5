-- Writes down a person's decision.
-- Parameters: key, scope hash, at, actor, action, reason, fence.
-- Rows: none; one change.
-- Guarantee: in the same transaction as the decision itself.
INSERT INTO {prefix}audit (key, scope_hash, at_us, actor, action, reason, fence) VALUES (?, ?, ?, ?, ?, ?, ?)
