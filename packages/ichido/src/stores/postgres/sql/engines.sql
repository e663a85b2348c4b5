-- What engines told of themselves within a day, the newest first.
-- Parameters: none.
-- Rows: engine, note, age in ms; at most 100.
-- Guarantee: none that a request rests on.
select engine, note, greatest(0, floor(extract(epoch from clock_timestamp() - noted_at) * 1000))::bigint
from {prefix}engines
where noted_at >= clock_timestamp() - interval '1 day'
order by noted_at desc
limit 100
