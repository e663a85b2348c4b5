-- Begins a new life over a marker whose own is past its retention.
-- Parameters  1 life, 2 owner, 3 fence, 4 attempts, 5 fingerprint, 6 sight, 7 retention in us, 8 id, 9 owner seen,
--             10 fence seen, 11 state seen
-- Rows        affected: 1 when it was still as seen
-- Guarantee   nothing of the former life is left
update {table} set life = ?, owner = ?, fence = ?, attempts = ?, state = 'started', fingerprint = ?, sight = ?,
  head = null, body = null, hold = null, created_us = {now}, expires_us = {now} + ?
where id = ? and owner = ? and fence = ? and state = ?
