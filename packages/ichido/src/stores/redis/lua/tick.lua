-- Notes that the server's clock was seen.
-- KEYS[1]  the tick row, which every process of this prefix shares
-- ARGV     1 interval in us
-- Result   {now, last, interval, steady since} in us, as they are after it
-- Promise  S10: a tick that comes more than three of its intervals after the last one, or before it, starts the count anew.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local row = redis.call('HMGET', KEYS[1], 'last', 'steady')
local last = tonumber(row[1] or nil)
local text = string.format('%.0f', now)
local steady = text
if last and now >= last and now - last <= {tickGapIntervals} * interval then steady = row[2] end
redis.call('HSET', KEYS[1], 'last', text, 'interval', string.format('%.0f', interval), 'steady', steady)
return { text, text, string.format('%.0f', interval), steady }
