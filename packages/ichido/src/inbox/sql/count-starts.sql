-- How many starts of a message before this one have not ended. Later ones do not count: of several that begin at once,
-- the first sees no other.
-- Parameters: :handler, :id, :token.
-- Rows: one; none where this one is gone.
-- Guarantee: committed state, or that of the transaction.
select count(s.token) as starts from {prefix}inbox_starts mine
left join {prefix}inbox_starts s on s.handler = mine.handler and s.id = mine.id
  and (s.at_ms < mine.at_ms or (s.at_ms = mine.at_ms and s.token < mine.token))
where mine.handler = :handler and mine.id = :id and mine.token = :token
group by mine.token
