-- Removes the resources, of every life, of records that may go.
-- Parameters: {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by `or`; then the moment, as in
--   `sweep`.
-- Result: nothing to decide by.
-- Guarantee: S10, S11, S20. None of a record that was taken over, or runs as new, since it was picked.
delete s from {records} r straight_join {resources} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash
where ({rows}) and r.sweep_us <= ? and (r.state <> 'processing' or not {live})
