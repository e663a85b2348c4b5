-- Removes markers that Redis knows nothing of any more: answers past their retention, and starts long past it.
-- Parameters  1 grace of a start in us, 2 limit
-- Rows        affected
-- Guarantee   by the database's clock alone; a marker with a step or in doubt stays
delete from {table} where {some}expires_us < {now} and (state = 'completed' or (state = 'started' and expires_us < {now} - ?))
limit ?{end}
