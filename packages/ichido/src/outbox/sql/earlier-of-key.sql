-- Within claim.sql: the first event of the key of `o` that waits at or below the floor.
-- Parameters: floor.
-- Rows: one, or none.
-- Guarantee: one step into the index of keys, and past what was removed of this key alone.
select e.seq from {prefix}outbox e where e.key_hash = o.key_hash and e.seq <= :floor order by e.seq limit 1
