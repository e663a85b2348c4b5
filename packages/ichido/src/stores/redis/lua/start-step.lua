-- Records the start of an external call and renews the lease.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 lease in us, 4 name of the step
-- Result   1, or 0 when another owner holds the record
-- Promise  S5, S11, S15. The first start stays as it was, the last one is this; from then on the record has no time to
--          live. A lease that was ended (0) stays ended.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'x', 'n', 'N' .. ARGV[4], 'l')
if row[1] ~= 'p' or row[2] ~= ARGV[1] or row[3] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local moment = string.format('%.0f', now)
local write = { 'l', row[7] == '0' and '0' or string.format('%.0f', now + tonumber(ARGV[3])), 'u', moment }
if row[6] then
  if redis.call('HEXISTS', KEYS[1], 'F' .. row[6]) == 0 then
    write[#write + 1] = 'L' .. row[6]
    write[#write + 1] = moment
  end
else
  local place = string.format('%.0f', tonumber(row[4]) + 1)
  local start = row[5] .. ' ' .. moment .. ' ' .. ARGV[4]
  for _, value in ipairs({ 'x', place, 'N' .. ARGV[4], place, 'S' .. place, start }) do write[#write + 1] = value end
end
redis.call('HSET', KEYS[1], unpack(write))
redis.call('PERSIST', KEYS[1])
return 1
