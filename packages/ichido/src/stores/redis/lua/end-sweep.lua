-- Gives the lock of sweepers back, if it is still this one's.
-- KEYS[1]  the lock
-- ARGV     1 token of the sweeper
-- Result   1, or 0 when it was gone or is another sweeper's
-- Promise  S12.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
