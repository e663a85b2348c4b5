-- Notes the start of a redelivered message before it runs: a process that dies leaves the note behind.
-- Parameters: :handler, :id, :token.
-- Result: one row.
-- Guarantee: committed before the handler runs.
insert into {prefix}inbox_starts (handler, id, token, at_ms) values (:handler, :id, :token, {now})
