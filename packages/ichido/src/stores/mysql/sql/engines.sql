-- What engines told of themselves, the newest first.
-- Parameters: :keptUs.
-- Rows: engine, note, age_us; at most 100.
-- Guarantee: none that a request rests on.
select engine, note, {now} - noted_us as age_us from {engines} where noted_us >= {now} - :keptUs
order by noted_us desc limit 100
