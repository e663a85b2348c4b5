-- Sizes of one slice of the table, in the order of its rows.
-- Parameters: now, now, now plus an absurd lease, row to start after, rows in the slice.
-- Rows: one; `last_row` is null past the end.
-- Guarantee: one consistent state per slice. Slices keep a large table from blocking the process that asks.
SELECT
  count(*) AS records,
  max(row) AS last_row,
  coalesce(sum(state = 'processing' AND live), 0) AS processing,
  coalesce(sum(state = 'completed'), 0) AS completed,
  coalesce(sum(state = 'failed'), 0) AS failed,
  coalesce(sum(state = 'processing' AND NOT live), 0) AS unknown,
  coalesce(sum(body_bytes), 0) AS body_bytes,
  min(expires_us) FILTER (WHERE expires_us <= ? AND may_expire) AS oldest_expired_us,
  min(created_us) FILTER (WHERE state = 'processing' AND NOT live) AS oldest_unknown_us
FROM (
  SELECT
    row, state, body_bytes, created_us, expires_us,
    lapsed = 0 AND doubtful = 0 AS live,
    state = 'completed' OR (steps_started = 0 AND doubtful = 0 AND (state = 'failed' OR (lapsed AND doubt_stays = 0))) AS may_expire
  FROM (
    SELECT
      rowid AS row, state, created_us, expires_us, steps_started, doubt_stays,
      coalesce(length(response_body), 0) + coalesce(length(interim_body), 0) AS body_bytes,
      lease_us <= ? OR lease_us > ? AS lapsed,
      interim_status IS NOT NULL OR hold_reason IS NOT NULL AS doubtful
    FROM {prefix}records
    WHERE rowid > ?
    ORDER BY rowid
    LIMIT ?
  )
)
