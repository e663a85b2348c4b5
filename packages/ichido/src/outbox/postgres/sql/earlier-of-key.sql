-- Within claim.sql: the first event of the key of `o` that waits at or below the floor. Compared and sorted as pairs, which the
-- index of keys alone can do: where the server may choose, it reads past all that was removed, of whatever key.
-- Parameters: floor.
-- Rows: one, or none.
-- Guarantee: one step into the index of keys, and past what was removed of this key alone.
select e.seq from {prefix}outbox e
where e.key_hash is not null
  and (e.key_hash, e.seq) >= (o.key_hash, 0) and (e.key_hash, e.seq) <= (o.key_hash, :floor)
order by e.key_hash, e.seq limit 1
