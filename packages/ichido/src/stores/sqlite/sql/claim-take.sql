-- Gives a record to its next owner, or back to the one whose reply was lost. An interim answer stays until the outcome is
-- settled, so that a new owner who vanishes too leaves the record as much in doubt as it was.
-- Parameters: owner, origin, fence, attempts, lease end, updated, whether a doubt stays, key, scope hash.
-- Rows: none; one change.
-- Guarantee: S2, S4, S6, S11. Runs under the write lock, after `look` in the same transaction allowed it.
UPDATE {prefix}records
SET
  state = 'processing', owner = ?, origin = ?, fence = ?, attempts = ?, lease_us = ?, updated_us = ?, doubt_stays = ?
WHERE key = ? AND scope_hash = ?
