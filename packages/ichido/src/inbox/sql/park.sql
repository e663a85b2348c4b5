-- Puts a message at the end of its key's line, where it is not in it.
-- Parameters: :handler, :id, :print, :line, :envelope, :payload, :error, :attempts, :delay_ms.
-- Result: nothing to decide by.
-- Guarantee: one row for each handler, id and content, at its first place.
insert into {prefix}inbox_parked (handler, id, print, line, envelope, payload, error, attempts, since_ms, due_ms)
values (:handler, :id, :print, :line, :envelope, :payload, :error, :attempts, {now}, {now} + :delay_ms)
on conflict (handler, id, print) do nothing
