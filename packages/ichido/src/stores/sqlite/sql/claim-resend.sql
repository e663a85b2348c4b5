-- Gives a record back to the owner whose reply was lost; how it came by the record stays.
-- Parameters: lease end, key, scope hash, owner, fence.
-- Rows: none; one change.
-- Guarantee: S2. Runs under the write lock, after `look` in the same transaction allowed it.
UPDATE ichido_records
SET lease_us = ?
WHERE key = ? AND scope_hash = ? AND owner = ? AND fence = ? AND state = 'processing'
