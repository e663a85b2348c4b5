-- Hands an open marker to the next attempt of the same life.
-- Parameters  1 owner, 2 fence, 3 attempts, 4 id, 5 owner seen, 6 fence seen, 7 state seen
-- Rows        affected: 1 when it was still as seen
-- Guarantee   what is known of steps and doubt stays
update {table} set owner = ?, fence = ?, attempts = ? where id = ? and owner = ? and fence = ? and state = ?
