-- Removes the steps, of every life, of records that may go.
-- Parameters: {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: S11. Only completed records, and former lives, have steps that may go; their answer stays until `sweep`.
delete s from {records} r straight_join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash
where ({rows}) and r.sweep_us <= {now} and (r.state <> 'processing' or not {live})
