-- The record, for its owner alone.
`key` = :key and scope_hash = :scopeHash and state = 'processing' and owner = :owner and fence = :fence
