-- Writes a batch of attempts; see `0005_create_history.sql`.
-- Parameters: arrays of key, scope hash, operation, age and duration in us, outcome, whether only observed, status, attempt,
-- fence, number, asker, intent; process, release; how far apart twins may be in us; how many attempts of a record stay; how
-- many pairs are told at most.
-- Rows: scope hash, operation, first key, second key, us between them, when it was noted, for each new pair.
-- Guarantee: S21, S22.
select * from {prefix}log(
  $1::text[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::integer[], $8::integer[], $9::integer[],
  $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::text, $15::text, $16::bigint, $17::integer, $18::integer
)
