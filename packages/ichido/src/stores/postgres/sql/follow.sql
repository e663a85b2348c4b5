-- The attempts of all records, in the order of writing. What was written a moment ago is left to the next page: another
-- batch may have been written before it and be committed after it.
-- Parameters: moment of writing in us and place to start after, us that are left to the next page, how many.
-- Rows: the columns of an attempt.
-- Guarantee: S21.
select {attempted}
from {prefix}attempts a
where (a.written_at, a.place) > ('epoch'::timestamptz + $1::bigint * interval '1 microsecond', $2::bigint)
  and a.written_at <= clock_timestamp() - $3::bigint * interval '1 microsecond'
order by a.written_at, a.place
limit $4::integer
