-- Pages of the attempt log, in the order of writing. What was written a moment ago is left to the next time: another
-- page may have been written before it and be committed after it.
-- Parameters: moment of writing in us and place to start after, us that are left to the next time, how many.
-- Rows: moment of writing in us, place, notes.
-- Guarantee: S21.
select floor(extract(epoch from p.written_at) * 1000000)::bigint, p.place, p.notes
from {prefix}log_pages p
where (p.written_at, p.place) > ('epoch'::timestamptz + $1::bigint * interval '1 microsecond', $2::bigint)
  and p.written_at <= clock_timestamp() - $3::bigint * interval '1 microsecond'
order by p.written_at, p.place
limit $4::integer
