-- As `complete`, where the operations tell what they made.
-- Parameters: as in `complete`; then an array of what each made as JSON, or null; the most resources of a record.
-- Rows: the `place` of each that holds, counting from 1; stale ones are missing.
-- Guarantee: S5, S7, S20, in one transaction.
select c.place from {prefix}complete(
  $1::text[], $2::bytea[], $3::uuid[], $4::bigint[], $5::text[], $6::integer[], $7::text[], $8::integer[], $9::integer[],
  $10::bytea, $11::text, $12::integer
) c
where {prefix}tell(true, ($1::text[])[c.place], ($2::bytea[])[c.place], ($13::text[])[c.place], $14::integer)
