-- Removes labels of records that are forgotten or run as new.
-- Parameters: {rows} is one `(label_hash = … and key = … and scope_hash = …)` per label, joined by `or`.
-- Result: nothing to decide by.
-- Guarantee: locks these rows alone.
delete from {labels} where {rows}
