-- Reads the tick row.
-- KEYS[1]  the tick row
-- Result   {now, last, interval, steady since} in us; {now} when there never was a tick
-- Promise  S10.
local time = redis.call('TIME')
local row = redis.call('HMGET', KEYS[1], 'last', 'interval', 'steady')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
if not row[1] then return { now } end
return { now, row[1], row[2], row[3] }
