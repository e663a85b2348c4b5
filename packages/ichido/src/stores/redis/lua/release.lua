-- Gives the record up: the next attempt with the same content may run. A record on hold waits for a person all the same:
-- only the lease ends.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 ms that a key outlives its record, 4 channel of waiters
-- Result   1, or 0 when another owner holds the record
-- Promise  S4, S5. Releasing again is harmless while no other owner took the record. A record with a started step, or
--          on hold, keeps having no time to live.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'e', 'x', 'h', 'r', 'w', 'd')
if row[2] ~= ARGV[1] or row[3] ~= ARGV[2] or row[1] == 'c' then return 0 end
if row[1] == 'f' then return 1 end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local left = math.max(0, math.ceil((tonumber(row[4]) - now) / 1000)) + tonumber(ARGV[3])
if row[8] then redis.pcall('PUBLISH', ARGV[4], '1') end
if row[6] then
  redis.call('HSET', KEYS[1], 'l', '0', 'u', string.format('%.0f', now))
  return 1
end
redis.call('HSET', KEYS[1], 's', 'f', 'u', string.format('%.0f', now))
if row[7] then redis.call('HDEL', KEYS[1], 'r', 'b', 'z') end
if row[5] == '0' and (row[7] or row[9] == '1') then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left)) end
return 1
