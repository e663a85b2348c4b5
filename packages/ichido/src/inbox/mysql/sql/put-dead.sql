-- Keeps a message that a handler could not process; one that is there already gets the latest error.
-- Parameters: :handler, :id, :print, :topic, :envelope, :payload, :reason, :error, :attempts.
-- Result: nothing to decide by.
-- Guarantee: one row for each handler, id and content, however often it is put.
insert into {prefix}inbox_dead (handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state)
values (:handler, :id, :print, :topic, :envelope, :payload, :reason, :error, :attempts, {now}, 'dead')
on duplicate key update reason = :reason, error = :error, attempts = attempts + :attempts, state = 'dead'
