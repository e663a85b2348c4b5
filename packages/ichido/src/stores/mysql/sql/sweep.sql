-- Removes records that may go, by primary key, so that no other row and no gap is locked.
-- Parameters: {rows} is one `(r.key = … and r.scope_hash = …)` per record, joined by `or`; then the moment at which
--   the ticks were found to be even: the clock may leap after that.
-- Result: affected rows.
-- Guarantee: S10, S11, S12. Each record is judged again under its lock.
delete r from {records} r
where ({rows}) and r.sweep_us <= ? and (r.state <> 'processing' or not {live})
