-- Moves the ends of many leases by one duration. Also revives a lapsed lease that no other owner took; one that its
-- owner ended (0) stays ended.
-- Parameters: lease in microseconds; {rows} is one `(key = … and scope_hash = … and owner = … and fence = …)` per claim,
--   joined by `or`.
-- Result: affected rows; as many as asked means that all were renewed. When there are fewer, `held` finds which.
-- Guarantee: S5. Rows are found by primary key, so no other row is locked. `updated_us` stays: a heartbeat is not a change
--   that anyone waits for. On MariaDB it waits for no row: the first locked one refuses the statement, so that none costs
--   the others their lease. MySQL reads that part as a comment.
/*M! set statement innodb_lock_wait_timeout = 0 for */ update {records} set lease_us = if(lease_us > 0, {now} + ?, 0) where ({rows}) and state = 'processing'
