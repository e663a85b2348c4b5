-- Sizes of the table. Counts and bytes come from the index of states, the oldest from the heads of two others: no row of
-- a completed record is read.
-- Parameters: none.
-- Rows: one; sums are null when there are no records.
-- Guarantee: S17. One consistent state; locks nothing.
select t.records, t.processing - u.unknown_outcomes as processing, t.completed, t.failed, t.body_bytes, u.unknown_outcomes, u.oldest_unknown_us, (
  select {now} - sweep_us from {records}
  where sweep_us <= {now} and (state <> 'processing' or not {live}) and (state <> 'failed' or step_starts = 0)
  order by sweep_us limit 1
) as sweep_lag_us
from (
  select
    count(*) as records, sum(state = 'processing') as processing, sum(state = 'completed') as completed,
    sum(state = 'failed') as failed, sum(response_bytes) as body_bytes
  from {records}
) t cross join (
  select count(*) as unknown_outcomes, max({now} - created_us) as oldest_unknown_us
  from {records}
  where state = 'processing' and ({doubtful} or not {live})
) u
