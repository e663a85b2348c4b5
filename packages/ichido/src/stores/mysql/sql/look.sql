-- What claims must know of the records they meet. The tick row and the steps are read apart, by the few claims that meet a
-- record past its retention or one with steps.
-- Parameters: {rows} is one `(key = … and scope_hash = …)` per identity, joined by `or`.
-- Rows: one for each identity that has a record.
-- Guarantee: one consistent state; locks and writes nothing. The answer was true while the call ran, and `completed`
--   stays true.
select {seen}
from {records} r
where {rows}
