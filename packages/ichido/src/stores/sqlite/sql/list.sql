-- One slice of a listing.
-- Parameters: key and scope hash to start after; key and scope hash to end at (a blob in place of the key ends after
--   the last); tenant twice; principal twice; operation twice; state twice; twice 1 for records in doubt, 0 for others; now, now plus
--   an absurd lease; limit. Null means any.
-- Rows: up to `limit`, ordered by key, then by scope hash; without bodies.
-- Guarantee: one consistent state per slice.
SELECT {listed}
FROM {prefix}records AS r
WHERE
  (key, scope_hash) > (?, ?) AND (key, scope_hash) <= (?, ?)
  AND (? IS NULL OR tenant = ?) AND (? IS NULL OR principal = ?) AND (? IS NULL OR operation = ?)
  AND (? IS NULL OR state = ?)
  AND (? IS NULL OR ? = (interim_status IS NOT NULL OR hold_reason IS NOT NULL OR lease_us <= ? OR lease_us > ?))
ORDER BY key, scope_hash
LIMIT ?
