-- Keeps a message that a handler could not process; one that is there already gets the latest error.
-- Parameters: :handler, :id, :print, :topic, :envelope, :payload, :reason, :error, :attempts.
-- Result: nothing to decide by.
-- Guarantee: one row for each handler, id and content, however often it is put.
insert into {prefix}inbox_dead as d (handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state)
values (:handler, :id, :print, :topic, :envelope, :payload, :reason, :error, :attempts, {now}, 'dead')
on conflict (handler, id, print) do update
set reason = excluded.reason, error = excluded.error, attempts = d.attempts + excluded.attempts, state = 'dead'
