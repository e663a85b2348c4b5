-- Writes the record for a step: from its first step on it never expires by itself, and its lease is renewed.
-- Parameters: lease end, updated, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S5, S11. A lease that its owner ended (0) stays ended.
UPDATE {prefix}records
SET lease_us = CASE WHEN lease_us > 0 THEN ? ELSE 0 END, steps_started = max(steps_started, 1), updated_us = ?
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
