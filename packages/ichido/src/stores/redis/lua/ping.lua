-- Proves that a script may write: not a replica, not full, disk and quorum in order.
-- KEYS[1]  a key of its own, which goes by itself
-- Result   1
-- Promise  S18: fails when a claim on this node would fail.
redis.call('SET', KEYS[1], '1', 'PX', '60000')
return 1
