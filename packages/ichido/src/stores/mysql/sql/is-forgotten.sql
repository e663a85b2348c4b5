-- Whether one of two keys is forgotten, and the fence of what is left.
-- Parameters: :scopeHash, :firstKey, :secondKey, :headers of a forgotten record.
-- Rows: one for each that is.
-- Guarantee: S24.
select r.`key`, r.fence from {records} r
where r.`key` in (:firstKey, :secondKey) and r.scope_hash = :scopeHash and r.response_kind = 'tombstone'
  and r.response_headers = :headers
