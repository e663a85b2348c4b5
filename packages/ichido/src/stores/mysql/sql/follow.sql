-- The attempts of all records, in the order of writing. What was written a moment ago is left to the next page: another
-- batch may have been written before it and be committed after it.
-- Parameters: :fromUs and :after, the moment of writing and the id to start after; :settledUs, what is left to the next
--   page; :limit.
-- Rows: up to :limit.
-- Guarantee: S21.
select a.* from {attempts} a
where (a.written_us > :fromUs or (a.written_us = :fromUs and a.id > :after)) and a.written_us >= :fromUs
  and a.written_us <= {now} - :settledUs
order by a.written_us, a.id
limit :limit
