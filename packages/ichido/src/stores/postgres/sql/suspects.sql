-- All pairs, in the order in which they were noted.
-- Parameters: as in `follow`.
-- Rows: the columns of a pair.
-- Guarantee: S22.
select {paired}
from {prefix}twins t
where (t.written_at, t.place) > ('epoch'::timestamptz + $1::bigint * interval '1 microsecond', $2::bigint)
  and t.written_at <= clock_timestamp() - $3::bigint * interval '1 microsecond'
order by t.written_at, t.place
limit $4::integer
