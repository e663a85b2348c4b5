-- What claims must know of the records they meet. The tick row and the steps are read apart, by the few claims that meet a
-- record past its retention or one with steps.
-- Parameters: {rows} is one `(key = … and scope_hash = …)` per identity, joined by `or`.
-- Rows: one for each identity that has a record.
-- Guarantee: one consistent state; locks and writes nothing. The answer was true while the call ran, and `completed`
--   stays true.
select
  `key`, scope_hash, state, owner, origin, fence, attempts, lease_us, step_starts, doubt_stays, hold_reason, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, created_us, updated_us, expires_us, response_kind, response_status, response_headers, response_body, labels,
  {now} as now_us
from {records} r
where {rows}
