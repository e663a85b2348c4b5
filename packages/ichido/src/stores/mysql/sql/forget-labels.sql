-- Removes labels of a life that is over: its record is forgotten, or runs as new.
-- Parameters: {rows} is one `(label_hash = … and key = … and scope_hash = …)` per label, joined by `or`; then the key, the
--   scope hash and a fence: where a record of a later life is there, the labels may be its own.
-- Result: nothing to decide by.
-- Guarantee: S24, S25. Locks these rows and their record alone.
delete from {labels}
where ({rows}) and not exists (select 1 from {records} r where r.`key` = ? and r.scope_hash = ? and r.life > ?)
