-- One record with its body.
-- KEYS[1]  the record
-- ARGV     the fields to read
-- Result   {now, field, …}
-- Promise  S17: one consistent reading with the time it was made at.
local time = redis.call('TIME')
return { string.format('%.0f', time[1] * 1000000 + time[2]), redis.call('HMGET', KEYS[1], unpack(ARGV)) }
