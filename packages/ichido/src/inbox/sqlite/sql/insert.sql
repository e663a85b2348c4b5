-- Takes a message for a handler: the first write of the handler's transaction.
-- Parameters: :handler, :id, :print.
-- Result: one change, or none when it was taken before.
-- Guarantee: of two transactions that take the same message one gets it; the other waits for the first to end.
INSERT INTO {prefix}inbox (handler, id, print, dead, processed_ms) VALUES (:handler, :id, :print, 0, {now})
ON CONFLICT (handler, id) DO NOTHING
