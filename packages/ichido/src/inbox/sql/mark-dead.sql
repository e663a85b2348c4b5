-- Makes redeliveries of a dead letter duplicates.
-- Parameters: :handler, :id, :print.
-- Result: one row, or none (MySQL: error 1062) when the message was processed meanwhile.
-- Guarantee: in the transaction of `put-dead`.
insert into {prefix}inbox (handler, id, print, dead, processed_ms) values (:handler, :id, :print, 1, {now})
on conflict (handler, id) do nothing
