-- Keeps the result of an external call.
-- Parameters: result, finished, key, scope hash, name.
-- Rows: none; one change, or none when it was finished before: the first result stays.
-- Guarantee: runs after the owner was proven in the same transaction.
UPDATE {prefix}steps
SET state = 'finished', result = ?, finished_us = ?
WHERE key = ? AND scope_hash = ? AND name = ? AND state = 'started'
