-- Removes the steps, of every life, of records that may go.
-- Parameters: {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by `or`; then the moment, as in
--   `sweep`.
-- Result: nothing to decide by.
-- Guarantee: S10, S11. Steps that may go are those of completed records, whose answer stays until `sweep`, of former lives, and of
--   records that were released long ago.
delete s from {records} r straight_join {steps} s on s.`key` = r.`key` and s.scope_hash = r.scope_hash
where ({rows}) and r.sweep_us <= ? and (r.state <> 'processing' or not {live})
