-- Intents of the pages that other processes wrote.
-- Parameters: moment of writing in us, process, how many.
-- Rows: moment of writing in us, place, intents; in the order of writing.
-- Guarantee: S22.
select floor(extract(epoch from p.written_at) * 1000000)::bigint, p.place, p.intents
from {prefix}log_pages p
where p.written_at >= 'epoch'::timestamptz + $1::bigint * interval '1 microsecond' and p.process <> $2::text
  and octet_length(p.intents) > 0
order by p.written_at, p.place
limit $3::integer
