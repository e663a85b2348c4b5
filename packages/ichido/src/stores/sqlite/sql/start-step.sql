-- Records that an external call is about to be made.
-- Parameters: key, scope hash, name; key, scope hash; attempt, started.
-- Rows: none; one change for a new step, none when it was started before.
-- Guarantee: the first start, its attempt and its order stay. Runs after the owner was proven in the same transaction.
INSERT INTO ichido_steps (key, scope_hash, name, ordinal, state, attempt, started_us)
VALUES (?, ?, ?, 1 + (SELECT count(*) FROM ichido_steps WHERE key = ? AND scope_hash = ?), 'started', ?, ?)
ON CONFLICT (key, scope_hash, name) DO NOTHING
