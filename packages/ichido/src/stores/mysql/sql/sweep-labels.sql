-- Removes the labels of records that may go.
-- Parameters: {rows} is one `(l.label_hash = … and l.key = … and l.scope_hash = …)` per label, joined by `or`; then the
--   moment, as in `sweep`.
-- Result: nothing to decide by.
-- Guarantee: S10, S11, S25. None of a record that was taken over, or runs as new, since it was picked.
delete l from {labels} l straight_join {records} r on r.`key` = l.`key` and r.scope_hash = l.scope_hash
where ({rows}) and r.sweep_us <= ? and (r.state <> 'processing' or not {live})
