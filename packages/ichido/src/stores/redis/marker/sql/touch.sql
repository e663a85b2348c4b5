-- Asks whether the marker is still the caller's and open, and waits for a transaction that may just be completing it.
-- Parameters  1 id, 2 owner, 3 fence
-- Rows        affected: 1 when it is
-- Guarantee   after it no transaction of this owner is under way on the marker
update {table} set touches = touches + 1 where id = ? and owner = ? and fence = ? and state <> 'completed'
