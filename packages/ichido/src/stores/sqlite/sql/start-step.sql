-- Records that an external call is about to be made.
-- Parameters: key, scope hash, name; key, scope hash; attempt, started, last started.
-- Rows: none; one change, or none when it is finished.
-- Guarantee: S15. The first start, its attempt and its order stay. Runs after the owner was proven in the same transaction.
INSERT INTO {prefix}steps (key, scope_hash, name, ordinal, state, attempt, started_us, last_started_us)
VALUES (
  ?, ?, ?, 1 + (SELECT coalesce(max(ordinal), 0) FROM {prefix}steps WHERE key = ? AND scope_hash = ?), 'started', ?, ?, ?
)
ON CONFLICT (key, scope_hash, name) DO UPDATE SET last_started_us = excluded.last_started_us WHERE state = 'started'
