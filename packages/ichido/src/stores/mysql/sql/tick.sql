-- Notes that the clock was seen. A tick that comes late, or before the last one, starts the count anew; a statement that
-- merely waited behind another process's tick began a moment before it ({tickPatienceUs}) and is not a clock that went back.
-- Parameters: :intervalUs.
-- Result: nothing to decide by.
-- Guarantee: S10. Assignments hold in either order of evaluation.
insert into {clock} (id, last_us, interval_us, steady_since_us)
values (1, {now}, :intervalUs, {now})
on duplicate key update
  steady_since_us = if({now} between last_us - {tickPatienceUs} and last_us + {tickGapIntervals} * :intervalUs, steady_since_us, {now}),
  interval_us = :intervalUs,
  last_us = if({now} between last_us - {tickPatienceUs} and last_us, last_us, {now})
