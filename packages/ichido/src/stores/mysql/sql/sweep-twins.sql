-- Removes the pairs of records that may go.
-- Parameters: {side}, `first_key` or `second_key`; {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by
--   `or`; then the moment, as in `sweep`.
-- Result: nothing to decide by.
-- Guarantee: S10, S11, S22. None of a record that was taken over, or runs as new, since it was picked.
delete t from {records} r straight_join {twins} t on t.{side} = r.`key` and t.scope_hash = r.scope_hash
where ({rows}) and r.sweep_us <= ? and (r.state <> 'processing' or not {live})
