-- Keeps the newest note of one engine, and forgets engines that have not been heard of for a day.
-- Parameters: engine, note.
-- Rows: none.
-- Guarantee: none that a request rests on.
with forgotten as (
  delete from {prefix}engines where noted_at < clock_timestamp() - interval '1 day' and engine <> $1::text
)
insert into {prefix}engines (engine, note, noted_at) values ($1::text, $2::text, clock_timestamp())
on conflict (engine) do update set note = excluded.note, noted_at = excluded.noted_at
