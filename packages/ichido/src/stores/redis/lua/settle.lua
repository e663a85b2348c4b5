-- A decision on a record in doubt, with its audit row.
-- KEYS[1]  the record
-- ARGV     1 fence that was looked at, 2 decision, 3 answer head, 4 body, 5 reason, 6 audit row as JSON,
--          7 nobody's owner token, 8 ms that a key outlives its record, 9 channel of waiters, 10 audit rows at most
-- Result   'ok', 'stale', 'absent', 'live' or 'completed'
-- Promise  S16: decision and audit row are one write. Past the bound the oldest audit row goes.
local row = redis.call('HMGET', KEYS[1], 's', 't', 'l', 'e', 'x', 'y', 'w')
local state = row[1]
if not state then return 'absent' end
if state == 'c' then return 'completed' end
if row[2] ~= ARGV[1] then return 'stale' end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local leaseEnd = tonumber(row[3])
if state == 'p' and leaseEnd > clock and leaseEnd <= clock + 60000000 then return 'live' end

local now = string.format('%.0f', clock)
local fence = string.format('%.0f', math.max(tonumber(row[2]) + 1, clock))
local place = tonumber(row[6] or 0) + 1
local left = math.max(0, math.ceil((tonumber(row[4]) - clock) / 1000)) + tonumber(ARGV[8])
local audit = { 'u', now, 'y', string.format('%.0f', place), 'A' .. string.format('%.0f', place), now .. ' ' .. ARGV[6] }
local changes = {
  hold = { 's', 'p', 'l', now, 'h', ARGV[5] },
  release = { 's', 'f', 'o', ARGV[7], 't', fence },
  adopt = { 's', 'c', 'o', ARGV[7], 't', fence, 'r', ARGV[3], 'b', ARGV[4], 'z', #ARGV[4] },
}
local write = changes[ARGV[2]]
for _, value in ipairs(audit) do write[#write + 1] = value end

if row[7] then redis.pcall('PUBLISH', ARGV[9], '1') end
redis.call('HSET', KEYS[1], unpack(write))
redis.call('HDEL', KEYS[1], 'A' .. string.format('%.0f', place - tonumber(ARGV[10])))
if ARGV[2] == 'hold' then
  redis.call('PERSIST', KEYS[1])
  return 'ok'
end
if ARGV[2] == 'release' then redis.call('HDEL', KEYS[1], 'h', 'r', 'b', 'z') else redis.call('HDEL', KEYS[1], 'h') end
if ARGV[2] == 'adopt' or row[5] == '0' then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left)) end
return 'ok'
