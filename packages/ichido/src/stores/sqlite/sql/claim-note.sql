-- Notes that a doubt must outlive its retention, for a claim that was refused because of it.
-- Parameters: key, scope hash.
-- Rows: none; one change.
-- Guarantee: S11. Runs under the write lock, after `look` in the same transaction; nothing else of the record changes.
UPDATE {prefix}records
SET doubt_stays = 1
WHERE key = ? AND scope_hash = ?
