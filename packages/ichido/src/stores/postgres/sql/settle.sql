-- A person's decision on a record in doubt, with its audit row.
-- Parameters: key, scope hash, fence, decision, response kind, status, headers, body, actor, reason, channel.
-- Rows: one, the verdict. Guarantee S16. Adopt and release bring a new owner and a greater fence: whoever held the record
-- can no longer complete it, nor mistake the adopted answer for its own. Hold leaves both.
with held as materialized (
  select r.*, case
    when r.fence <> $3::bigint then 'stale'
    when r.state = 'completed' then 'completed'
    when r.lease_until > clock_timestamp() and r.lease_until <= clock_timestamp() + interval '60 s' then 'live'
    else 'ok'
  end as verdict
  from {prefix}records r
  where r.key = $1::text and r.scope_hash = $2::bytea
  for no key update
),
moved as (
  update {prefix}records r set
    state = case $4::text when 'adopt' then 'completed' when 'release' then 'failed' else 'processing' end,
    owner = case when $4::text = 'hold' then r.owner else gen_random_uuid() end,
    fence = case when $4::text = 'hold' then r.fence
      else greatest(r.fence + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint) end,
    lease_until = null,
    hold_reason = case when $4::text = 'hold' then $10::text end,
    response_kind = case $4::text when 'adopt' then $5::text when 'hold' then r.response_kind end,
    response_status = case $4::text when 'adopt' then $6::integer when 'hold' then r.response_status end,
    response_headers = case $4::text when 'adopt' then $7::text when 'hold' then r.response_headers end,
    response_body = case $4::text when 'adopt' then $8::bytea when 'hold' then r.response_body end,
    updated_at = clock_timestamp()
  from held h
  where r.key = h.key and r.scope_hash = h.scope_hash and h.verdict = 'ok'
  returning r.key, r.scope_hash, h.fence, r.watched
),
noted as (
  insert into {prefix}audit (key, scope_hash, fence, actor, action, reason, at)
  select m.key, m.scope_hash, m.fence, $9::text, $4::text, $10::text, clock_timestamp() from moved m
)
select
  coalesce((select verdict from held), 'absent'),
  (select pg_notify($11::text, encode(sha256(convert_to(m.key, 'UTF8') || m.scope_hash), 'hex')) from moved m
    where m.watched)
