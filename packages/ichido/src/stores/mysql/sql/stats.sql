-- Sizes of the table, in one scan of the primary key without bodies.
-- Parameters: none.
-- Rows: one; sums are null when there are no records.
-- Guarantee: S17. One consistent state; locks nothing.
select
  count(*) as records,
  sum(r.state = 'processing') as processing,
  sum(r.state = 'completed') as completed,
  sum(r.state = 'failed') as failed,
  sum(r.state = 'processing' and ({doubtful} or not {live})) as unknown_outcomes,
  sum(r.response_bytes) as body_bytes,
  max(if(r.sweep_us <= {now} and (r.state <> 'processing' or not {live}), {now} - r.sweep_us, 0)) as sweep_lag_us,
  max(if(r.state = 'processing' and ({doubtful} or not {live}), {now} - r.created_us, 0)) as oldest_unknown_us
from {records} r
