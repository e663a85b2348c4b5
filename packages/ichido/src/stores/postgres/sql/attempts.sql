-- The attempts of one record, oldest first.
-- Parameters: key, scope hash.
-- Rows: the columns of an attempt.
-- Guarantee: S21.
select {attempted} from {prefix}attempts a where a.key = $1::text and a.scope_hash = $2::bytea order by a.written_at, a.place
