-- Notes that an external call is about to be made.
-- Parameters  1 id, 2 owner, 3 fence
-- Rows        affected: 1 when the marker is the caller's and open
-- Guarantee   a marker with a step never expires
update {table} set touches = touches + 1, state = case when state = 'held' then 'held' else 'stepped' end
where id = ? and owner = ? and fence = ? and state <> 'completed'
