-- Keeps other processes from migrating the same tables, for as long as this connection lives.
-- Parameters: :prefix, :seconds.
-- Rows: one; `held` is 1 when the lock was had in time.
-- Guarantee: a lock of the server, not of a transaction: DDL would end that.
select get_lock(concat('ichido-', sha1(concat(coalesce(database(), ''), '.', :prefix))), :seconds) as held
