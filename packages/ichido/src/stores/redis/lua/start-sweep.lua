-- Takes the lock of sweepers, or keeps it, if no other sweeper has it.
-- KEYS[1]  the lock, a key of its own
-- ARGV     1 token of the sweeper, 2 ms after which the lock goes by itself
-- Result   1, or 0 when another sweeper is at work
-- Promise  S12: one at a time. Sent again with the same token it is granted again.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
