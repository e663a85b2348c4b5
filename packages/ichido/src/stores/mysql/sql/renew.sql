-- Moves the ends of many leases, each by its own duration. Also revives a lapsed lease that nobody took.
-- Parameters: {rows} is one `select key, scope hash, owner, fence, lease in microseconds` per claim.
-- Result: affected rows; as many as asked means that all were renewed, fewer means that `held` tells which.
-- Guarantee: S5. The claims lead and the records follow by primary key, so no other row is locked. `updated_us` stays: a
-- heartbeat is not a change that anyone waits for.
update ({rows}) d straight_join {records} r on r.`key` = d.k and r.scope_hash = d.s
set r.lease_us = {now} + d.l
where r.owner = d.o and r.fence = d.f and r.state = 'processing' and r.lease_us > 0
