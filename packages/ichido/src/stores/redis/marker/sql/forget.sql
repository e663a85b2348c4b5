-- Removes the marker of a record that Redis, its clock trusted, removed as expired.
-- Parameters  1 id, 2 life
-- Rows        affected
-- Guarantee   only that very life; a marker with a step or in doubt stays
delete from {table} where id = ? and life = ? and state in ('started', 'completed')
