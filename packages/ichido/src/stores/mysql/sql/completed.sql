-- Whether this owner and fence completed the record before. Locking, so that inside a user's transaction it reads the
-- present row and not the snapshot the transaction began with.
-- Parameters: the claim.
-- Rows: one or none.
-- Guarantee: S7.
select 1 as found from {records}
where `key` = :key and scope_hash = :scopeHash and owner = :owner and fence = :fence and state = 'completed'
for update
