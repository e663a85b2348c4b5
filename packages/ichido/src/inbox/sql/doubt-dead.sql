-- Says of a letter that its message may have been processed and forgotten.
-- Parameters: :handler, :id, :print, :error.
-- Result: nothing to decide by.
-- Guarantee: what a person has decided stays.
update {prefix}inbox_dead set reason = 'too-old', error = :error
where handler = :handler and id = :id and print = :print and state = 'dead'
