-- Writes a page of the attempt log; see `0005_create_history.sql`.
-- Parameters: process, release, how its owner tokens begin, us to keep the page, intents, notes; arrays of key, scope hash,
-- operation, age and duration in us, outcome, whether only observed, status, attempt, fence, number, count, us between the
-- first and the last of them, asker; how many attempts of a record stay; header lines of a forgotten record.
-- Rows: one: place of the page, when it was written in us.
-- Guarantee: S21.
select * from {prefix}log(
  $1::text, $2::text, $3::text, $4::bigint, $5::bytea, $6::bytea,
  $7::text[], $8::bytea[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::integer[], $14::integer[],
  $15::integer[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::text[], $21::integer, $22::text
)
