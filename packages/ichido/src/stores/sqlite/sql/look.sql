-- What a claim must know of the record it meets.
-- Parameters: key, scope hash.
-- Rows: one or none.
-- Guarantee: one consistent state of the record. Without the write lock the answer was true while the call ran, and
--   `completed` stays true; with the lock it holds until commit.
SELECT
  state, owner, origin, fence, attempts, lease_us, doubt_stays, hold_reason, fingerprint_raw, fingerprint_canonical,
  fingerprint_former, created_us, updated_us, expires_us, interim_kind, interim_status, interim_headers, interim_body,
  response_kind, response_status, response_headers, response_body,
  {stepsCount} AS steps_count
FROM {prefix}records AS r
WHERE key = ? AND scope_hash = ?
