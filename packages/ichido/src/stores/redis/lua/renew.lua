-- Renews a lease, also a lapsed one that no other owner took. One that its owner ended (0) stays ended.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 lease in us, 4 ms that a key outlives its record
-- Result   1, or 0 when another owner holds the record
-- Promise  S5, S11. A heartbeat is not a change that anyone waits for: the time of the last one stays.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'e', 'x', 'h', 'r', 'l', 'd')
if row[1] ~= 'p' or row[2] ~= ARGV[1] or row[3] ~= ARGV[2] then return 0 end
if row[8] == '0' then return 1 end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease, margin = tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'l', string.format('%.0f', now + lease))
if now + lease > tonumber(row[4]) and row[5] == '0' and not row[6] and not row[7] and row[9] ~= '1' then
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(lease / 1000) + margin))
end
return 1
