-- Which records, `r`, a listing wants, and where its page begins.
($1::text is null or r.tenant = $1)
  and ($2::text is null or r.principal = $2)
  and ($3::text is null or r.operation = $3)
  and ($4::text is null or r.key = $4)
  and ($5::text is null or $5 = case when r.state = 'processing' and (r.hold_reason is not null or r.response_kind is not null
      or not coalesce(r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s', false))
    then 'unknown' else r.state end)
  and ($6::text is null or (r.key, r.scope_hash) > ($6::text collate "C", $7::bytea))
