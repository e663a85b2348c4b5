-- Which of the watched records may have changed: absent, or no longer at work under a living lease.
-- Parameters: arrays of key and scope hash.
-- Rows: the `place` of each, counting from 1.
-- Guarantee: S18. Locks and writes nothing.
select a.place
from unnest($1::text[], $2::bytea[]) with ordinality as a (key, scope_hash, place)
left join {prefix}records r on r.key = a.key and r.scope_hash = a.scope_hash
where r.key is null or r.state <> 'processing' or r.hold_reason is not null or r.response_kind is not null
  or not coalesce(r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '{leaseAbsurdSeconds} s', false)
