-- Gives the lock of `lock-sweep` back.
-- Parameters: :prefix.
-- Rows: one.
-- Guarantee: none; the lock also ends with the connection.
select release_lock(concat('ichido-sweep-', sha1(concat(coalesce(database(), ''), '.', :prefix)))) as released
