-- Keeps other processes from sweeping the same tables, for as long as this connection lives or until `unlock-sweep`.
-- Parameters: :prefix.
-- Rows: one; `held` is 1 when the lock was free.
-- Guarantee: S12. Never waits.
select get_lock(concat('ichido-sweep-', sha1(concat(coalesce(database(), ''), '.', :prefix))), 0) as held
