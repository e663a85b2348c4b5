-- Writes down what a person wants; it counts once a settlement gives it its time.
-- Parameters: :key, :scopeHash, :fence, :actor, :action, :reason.
-- Result: insertId, the id of the row.
-- Guarantee: changes nothing that anyone reads.
insert into {audit} (`key`, scope_hash, fence, actor, action, reason)
values (:key, :scopeHash, :fence, :actor, :action, :reason)
