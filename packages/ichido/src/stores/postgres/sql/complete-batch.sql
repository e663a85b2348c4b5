-- `complete` for many records at once, each of which appears once, in key order.
-- Parameters: arrays of key, scope hash, owner, fence, response kind, status, headers, first byte and length of the body;
-- all bodies joined, so that they travel as bytes and not as text; notification channel.
-- Rows: the `place` of each that holds, counting from 1; stale ones are missing. Guarantees S5, S7.
with asked as (
  select * from unnest(
    $1::text[], $2::bytea[], $3::uuid[], $4::bigint[], $5::text[], $6::integer[], $7::text[], $8::integer[], $9::integer[]
  ) with ordinality as a (key, scope_hash, owner, fence, kind, status, headers, first_byte, length, place)
),
done as (
  update {prefix}records r set
    state = 'completed', lease_until = null, hold_reason = null,
    response_kind = case when r.state = 'completed' then r.response_kind else a.kind end,
    response_status = case when r.state = 'completed' then r.response_status else a.status end,
    response_headers = case when r.state = 'completed' then r.response_headers else a.headers end,
    response_body = case when r.state = 'completed' then r.response_body
      else substring($10::bytea from a.first_byte for a.length) end,
    updated_at = case when r.state = 'completed' then r.updated_at else clock_timestamp() end
  from asked a
  where r.key = a.key and r.scope_hash = a.scope_hash and r.owner = a.owner and r.fence = a.fence
    and r.state in ('processing', 'completed')
  returning a.place, r.watched, r.key, r.scope_hash
)
select
  place,
  case when watched then pg_notify($11::text, encode(sha256(convert_to(key, 'UTF8') || scope_hash), 'hex')) end
from done
