-- Records that an external call is about to be made.
-- Parameters: name, started, key, scope hash.
-- Rows: none; one change for a new step, none when it was started before.
-- Guarantee: the first start, its attempt and its order stay. Runs after `renew` in the same transaction proved the owner.
INSERT INTO ichido_steps (key, scope_hash, name, ordinal, state, attempt, started_us)
SELECT key, scope_hash, ?, steps_started + 1, 'started', attempts, ?
FROM ichido_records
WHERE key = ? AND scope_hash = ?
ON CONFLICT (key, scope_hash, name) DO NOTHING
