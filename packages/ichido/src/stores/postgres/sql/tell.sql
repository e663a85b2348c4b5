-- Notes what an operation made, on the caller's transaction, before its completion there.
-- Parameters: key, scope hash, owner, fence, what it made as JSON, the most resources of a record.
-- Rows: one: 1 when owner and fence hold the record.
-- Guarantee: S20.
select {prefix}tell(exists (
  select from {prefix}records r
  where r.key = $1::text and r.scope_hash = $2::bytea and r.owner = $3::uuid and r.fence = $4::bigint
), $1, $2, $5::text, $6::integer)::integer
