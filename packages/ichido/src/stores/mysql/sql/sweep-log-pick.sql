-- The next attempts that the sweeper looks at, once each, and whether each has a record: one that has goes with that record.
-- The youngest are left to the next time.
-- Parameters: :lateUs, :limit.
-- Rows: up to :limit, in the order of writing.
-- Guarantee: S21.
select a.id, a.written_us, r.`key` is not null as recorded
from (select coalesce(max(l.written_us), 0) as written_us, coalesce(max(l.place), 0) as place from {log_sweep} l) c
straight_join {attempts} a
  on a.written_us >= c.written_us and (a.written_us > c.written_us or a.id > c.place) and a.written_us < {now} - :lateUs
left join {records} r on r.`key` = a.`key` and r.scope_hash = a.scope_hash
order by a.written_us, a.id
limit :limit
