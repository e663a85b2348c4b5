-- Makes a record findable by its labels, once it is completed.
-- Parameters: {rows} is one `(label hash, key, scope hash)` per label.
-- Result: nothing to decide by.
-- Guarantee: may be run again. A hit counts only if the record itself bears the label.
insert into {labels} (label_hash, `key`, scope_hash)
values {rows}
on duplicate key update {labels}.scope_hash = {labels}.scope_hash
