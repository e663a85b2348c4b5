-- Pages of the attempt log, in the order of writing. What was written a moment ago is left to the next time: another
-- page may have been written before it and be committed after it.
-- Parameters: :fromUs and :after, the moment of writing and the id to start after; :settledUs, what is left to the next
--   time; :limit.
-- Rows: up to :limit.
-- Guarantee: S21.
select p.id, p.written_us, p.notes from {log_pages} p
where (p.written_us > :fromUs or (p.written_us = :fromUs and p.id > :after)) and p.written_us >= :fromUs
  and p.written_us <= {now} - :settledUs
order by p.written_us, p.id
limit :limit
