-- Whether this owner and fence released the record before: the reply may have been lost.
-- Parameters: the claim.
-- Rows: one or none.
-- Guarantee: S5.
select 1 as found from {records}
where `key` = :key and scope_hash = :scopeHash and owner = :owner and fence = :fence and state = 'failed'
