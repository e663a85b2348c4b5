-- Acknowledges an entry and, in the same step, makes sure that the next one is still held, counting its hand-out.
-- KEYS[1]  the stream
-- ARGV     1 group, 2 consumer, 3 entry, 4 next entry or '', 5 '1' to delete the entry when no other group reads the stream
-- Result   deliveries of the next entry; 0 without one, or when another consumer has taken it
-- Promise  B5: a consumer that was away for too long hands out nothing of what it held.
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
if ARGV[5] == '1' and #redis.call('XINFO', 'GROUPS', KEYS[1]) == 1 then redis.call('XDEL', KEYS[1], ARGV[3]) end
if ARGV[4] == '' then return 0 end
local held = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[4], ARGV[4], 1)[1]
if not held or held[2] ~= ARGV[2] then return 0 end
local deliveries = held[4] + 1
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[4], 'IDLE', 0, 'RETRYCOUNT', deliveries, 'JUSTID')
return deliveries
