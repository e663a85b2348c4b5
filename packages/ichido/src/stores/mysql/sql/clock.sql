-- The tick row and the time.
-- Parameters: none.
-- Rows: one; without a tick its columns are null.
-- Guarantee: one consistent state.
select {now} as now_us, c.last_us, c.interval_us, c.steady_since_us
from (select 1 as one) o left join {clock} c on c.id = 1
