-- Adds an audit row to a record, if there is one.
-- KEYS[1]  the record
-- ARGV     1 audit row as JSON, 2 audit rows at most
-- Result   1, or 0 without a record
-- Promise  S23. Past the bound the oldest audit row goes.
local row = redis.call('HMGET', KEYS[1], 's', 'y')
if not row[1] then return 0 end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local place = string.format('%.0f', tonumber(row[2] or 0) + 1)
redis.call('HSET', KEYS[1], 'y', place, 'A' .. place, now .. ' ' .. ARGV[1])
redis.call('HDEL', KEYS[1], 'A' .. string.format('%.0f', tonumber(place) - tonumber(ARGV[2])))
return 1
