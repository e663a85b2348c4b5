-- Removes the pairs of records that went.
-- Parameters: {rows} is one `(first_key = … and scope_hash = …)` or the same with `second_key`, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: S22.
delete from {twins} where {rows} limit 1000000
