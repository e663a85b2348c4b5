-- Moves the end of a lease. Also revives a lapsed lease that no other owner took; one that its owner ended (0) stays
-- ended, so that a heartbeat which was under way meanwhile keeps no other attempt out.
-- Parameters: lease end, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S5. `updated_us` stays: a heartbeat is not a change anyone waits for.
UPDATE {prefix}records
SET lease_us = CASE WHEN lease_us > 0 THEN ? ELSE 0 END
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
