-- Keeps the result of an external call.
-- Parameters: result, finished, key, scope hash, name.
-- Rows: none; one change, or none when it was finished before: the first result stays.
-- Guarantee: runs after `renew` in the same transaction proved the owner.
UPDATE ichido_steps
SET state = 'finished', result = ?, finished_us = ?
WHERE key = ? AND scope_hash = ? AND name = ? AND state = 'started'
