-- Moves the end of a lease. Also revives a lapsed lease that nobody took.
-- Parameters: lease end, key, scope hash, owner, fence.
-- Rows: none; one change for the owner, none for anyone else.
-- Guarantee: S5. `updated_us` stays: a heartbeat is not a change anyone waits for.
UPDATE ichido_records
SET lease_us = ?
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
