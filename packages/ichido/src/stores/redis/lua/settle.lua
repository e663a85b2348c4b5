-- A decision on a record in doubt, with its audit row.
-- KEYS[1]  the record
-- ARGV     1 fence that was looked at, 2 decision, 3 answer head, 4 body, 5 reason, 6 audit row as JSON, 7 an owner
--          token that no attempt has, 8 ms that a key outlives its record, 9 channel of waiters, 10 audit rows at most,
--          11 '1' in the name of a policy: a hold stands in the way, and steps stay
-- Result   'ok', 'stale', 'absent', 'live' or 'completed'
-- Promise  S16: decision and audit row are one write. Past the bound the oldest audit row goes.
--          S15: after a person's release, steps without a result did not happen; those with one move up.
local row = redis.call('HMGET', KEYS[1], 's', 't', 'l', 'e', 'x', 'y', 'w', 'h')
local state = row[1]
if not state then return 'absent' end
if state == 'c' then return 'completed' end
if row[2] ~= ARGV[1] or (ARGV[11] == '1' and row[8]) then return 'stale' end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local leaseEnd = tonumber(row[3])
if state == 'p' and leaseEnd > clock and leaseEnd <= clock + {leaseAbsurdUs} then return 'live' end

local function finished_steps_alone(started)
  local place = 0
  for at = 1, started do
    local step = redis.call('HMGET', KEYS[1], 'S' .. at, 'F' .. at, 'R' .. at, 'L' .. at)
    local name = string.match(step[1], '^%d+ %d+ (.*)$')
    redis.call('HDEL', KEYS[1], 'N' .. name, 'S' .. at, 'F' .. at, 'R' .. at, 'L' .. at)
    if step[2] then
      place = place + 1
      redis.call('HSET', KEYS[1], 'N' .. name, place, 'S' .. place, step[1], 'F' .. place, step[2], 'R' .. place, step[3])
      if step[4] then redis.call('HSET', KEYS[1], 'L' .. place, step[4]) end
    end
  end
  redis.call('HSET', KEYS[1], 'x', place)
  return tostring(place)
end

local now = string.format('%.0f', clock)
local fence = string.format('%.0f', math.max(tonumber(row[2]) + 1, clock))
local place = tonumber(row[6] or 0) + 1
local left = math.max(0, math.ceil((tonumber(row[4]) - clock) / 1000)) + tonumber(ARGV[8])
local audit = { 'u', now, 'y', string.format('%.0f', place), 'A' .. string.format('%.0f', place), now .. ' ' .. ARGV[6] }
local changes = {
  hold = { 's', 'p', 'l', '0', 'h', ARGV[5] },
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
local left_steps = row[5]
if ARGV[2] == 'release' then
  redis.call('HDEL', KEYS[1], 'h', 'r', 'b', 'z')
  if ARGV[11] ~= '1' then left_steps = finished_steps_alone(tonumber(row[5])) end
else
  redis.call('HDEL', KEYS[1], 'h')
end
if ARGV[2] == 'adopt' or left_steps == '0' then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left)) end
return 'ok'
