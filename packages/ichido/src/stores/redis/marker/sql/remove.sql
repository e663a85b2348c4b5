-- Takes the mark away: the next attempt may run.
-- Parameters  1 id, 2 fence, 3 owner
-- Rows        affected: 1 when the marker was open and of that fence and owner
-- Guarantee   never touches an answer
delete from {table} where id = ? and fence = ? and owner = ? and state <> 'completed'
