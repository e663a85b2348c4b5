-- Removes what was noted about records that went.
-- Parameters: {rows} is one `(s.key = … and s.scope_hash = …)` per record, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: S21. Nothing of a record that is there.
delete s from {resources} s left join {records} r on r.`key` = s.`key` and r.scope_hash = s.scope_hash
where ({rows}) and r.`key` is null
