-- Every decision a person made on an identity, also under records that are gone.
-- Parameters: :key, :scopeHash.
-- Rows: one per decision, oldest first.
-- Guarantee: one consistent state.
select at_us, actor, action, reason, fence from {audit}
where `key` = :key and scope_hash = :scopeHash and at_us is not null
order by at_us, id
