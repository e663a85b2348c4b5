-- Within claim.sql: the first event of the key of `o` that waits at or below the floor. By the index of keys: in the order of
-- numbers the server would read past all that was removed, of whatever key.
-- Parameters: floor.
-- Rows: one, or none.
-- Guarantee: one step into the index of keys, and past what was removed of this key alone.
select e.seq from {prefix}outbox e force index ({bare}outbox_key)
where e.key_hash = o.key_hash and e.seq <= :floor order by e.seq limit 1
