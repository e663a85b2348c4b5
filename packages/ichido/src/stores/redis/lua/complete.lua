-- Stores the answer, if owner and fence still hold the record.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 answer head, 4 body, 5 ms that a key outlives its record, 6 channel of waiters,
--          7 '1' when the caller waits for replicas and so needs a write even where nothing changes
-- Result   1, or 0 when another owner holds the record
-- Promise  S5, S7. The script publishes to waiters first: they cannot read before it is over, and publishing may fail.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'e', 'x', 'h', 'r', 'w', 'd')
if row[2] ~= ARGV[1] or row[3] ~= ARGV[2] or row[1] == 'f' then return 0 end
if row[1] == 'c' then
  if ARGV[7] == '1' then redis.call('HSET', KEYS[1], 's', 'c') end
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local left = math.max(0, math.ceil((tonumber(row[4]) - now) / 1000)) + tonumber(ARGV[5])
if row[8] then redis.pcall('PUBLISH', ARGV[6], '1') end
redis.call('HSET', KEYS[1], 's', 'c', 'r', ARGV[3], 'b', ARGV[4], 'z', #ARGV[4], 'u', string.format('%.0f', now))
if row[6] then redis.call('HDEL', KEYS[1], 'h') end
if row[5] ~= '0' or row[6] or row[7] or row[9] == '1' then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left)) end
return 1
