-- Gives a failed, lapsed or suspended record to its next owner. An interim answer and a hold stay until the outcome is
-- settled, so that a new owner who vanishes too leaves the record as much in doubt as it was.
-- Parameters: owner, fence, lease end, updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: S4, S6. Runs under the write lock, after `look` in the same transaction allowed it.
UPDATE ichido_records
SET state = 'processing', owner = ?, fence = ?, attempts = attempts + 1, lease_us = ?, updated_us = ?
WHERE key = ? AND scope_hash = ?
