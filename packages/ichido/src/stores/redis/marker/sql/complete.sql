-- Keeps the answer. On the caller's transaction it commits with the business writes.
-- Parameters  1 owner to be, 2 head, 3 body, 4 id, 5 fence, 6 owner
-- Rows        affected: 1 when the marker was open and of that fence and owner
-- Guarantee   at most one answer in a life, and only by whoever holds the marker
update {table} set touches = touches + 1, state = 'completed', owner = ?, head = ?, body = ?, hold = null
where id = ? and fence = ? and owner = ? and state <> 'completed'
