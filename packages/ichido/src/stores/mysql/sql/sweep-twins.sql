-- Removes the pairs of records that went.
-- Parameters: {rows} is one `(s.first_key = … and s.scope_hash = …)` or the same with `second_key`, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: S22.
delete s from {twins} s where {rows}
