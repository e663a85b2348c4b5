-- One page of records. Null means any.
-- Parameters: :afterKey, :afterHash to start after; :key, :tenant, :principal, :operation, :state; :unknown as 0 or 1;
--   :labelFirst and :labelNext, the label as it stands at the head of the stored labels or further on; :limit.
-- Rows: up to :limit, ordered by key, then by scope hash; without bodies.
-- Guarantee: S17. One consistent state per page; locks nothing.
select
  r.`key`, r.scope_hash, r.tenant, r.principal, r.operation, r.fingerprint_version, r.fingerprint_raw,
  r.fingerprint_canonical, r.fingerprint_former, r.state, r.owner, r.fence, r.attempts, r.lease_us, r.hold_reason, r.response_kind,
  r.response_status, r.response_headers, r.labels, r.created_us, r.updated_us, r.expires_us,
  if(r.step_starts = 0, 0, (
    select count(*) from {steps} s
    where s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life and s.started_us is not null
  )) as steps_started,
  {now} as now_us
from {records} r
where (:afterKey is null or r.`key` > :afterKey or (r.`key` = :afterKey and r.scope_hash > :afterHash))
  and (:key is null or r.`key` = :key)
  and (:tenant is null or r.tenant = :tenant)
  and (:principal is null or r.principal = :principal)
  and (:operation is null or r.operation = :operation)
  and (:state is null or r.state = :state)
  and (:unknown = 0 or (r.state = 'processing' and ({doubtful} or not {live})))
  and (:labelFirst is null or locate(:labelFirst, r.labels) = 1 or locate(:labelNext, r.labels) > 1)
order by r.`key`, r.scope_hash
limit :limit
