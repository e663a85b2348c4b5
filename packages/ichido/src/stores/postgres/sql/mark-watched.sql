-- Asks for a notification when these records change. One write per record, however many wait.
-- Parameters: arrays of key and scope hash.
-- Rows: none.
-- Guarantee: S18. A record that has changed already is left alone: `watch` finds it.
update {prefix}records r
set watched = true
from unnest($1::text[], $2::bytea[]) as a (key, scope_hash)
where r.key = a.key and r.scope_hash = a.scope_hash and r.state = 'processing' and not r.watched
