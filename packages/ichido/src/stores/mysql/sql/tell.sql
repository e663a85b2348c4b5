-- Notes what an operation made. Before the verb that tells it, but on the user's transaction after the completion.
-- Parameters: :kind, :id, :key, :scopeHash, :life, :ordinal.
-- Result: one affected row where it is new.
-- Guarantee: S20. Noted once, whatever is sent again.
insert ignore into {resources} (kind, id, `key`, scope_hash, life, ordinal)
values (:kind, :id, :key, :scopeHash, :life, :ordinal)
