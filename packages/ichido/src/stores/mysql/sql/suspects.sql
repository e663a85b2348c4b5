-- All pairs, in the order in which they were noted.
-- Parameters: as in `follow`.
-- Rows: up to :limit.
-- Guarantee: S22.
select t.* from {twins} t
where (t.written_us > :fromUs or (t.written_us = :fromUs and t.id > :after)) and t.written_us >= :fromUs
  and t.written_us <= {now} - :settledUs
order by t.written_us, t.id
limit :limit
