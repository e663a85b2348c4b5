-- A page of records in the order of the primary key, without bodies.
-- Parameters: tenant, principal, operation, key, state, label as a JSON object, key and scope hash of the former page's
-- last record, how many. Null asks for nothing.
-- Rows: whether this server is a standby, then the columns of a record (`row.ts`).
-- Guarantee: S17. One consistent state per page; locks nothing.
select {recorded}, ''::bytea
from {prefix}records r
where ($1::text is null or r.tenant = $1)
  and ($2::text is null or r.principal = $2)
  and ($3::text is null or r.operation = $3)
  and ($4::text is null or r.key = $4)
  and ($5::text is null or $5 = case when r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null
      or not coalesce(r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s', false))
    then 'unknown' else r.state end)
  and ($6::text is null or r.labels @> $6::text::jsonb)
  and ($7::text is null or (r.key, r.scope_hash) > ($7::text collate "C", $8::bytea))
order by r.key, r.scope_hash
limit $9::integer
