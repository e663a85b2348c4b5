-- How many starts of a message before this one have not ended. Later ones do not count: of several that begin at once,
-- the first sees no other.
-- Parameters: :handler, :id, :token.
-- Rows: one.
-- Guarantee: committed state, or that of the transaction.
select count(*) as starts from {prefix}inbox_starts s
join {prefix}inbox_starts mine on mine.handler = s.handler and mine.id = s.id
where mine.handler = :handler and mine.id = :id and mine.token = :token
  and (s.at_ms < mine.at_ms or (s.at_ms = mine.at_ms and s.token < mine.token))
