-- What engines told of themselves.
-- KEYS[1]  the notes of all engines of this prefix
-- Result   {now in us, {field, value, …}}
-- Promise  none that a request rests on
local time = redis.call('TIME')
return { string.format('%.0f', time[1] * 1000000 + time[2]), redis.call('HGETALL', KEYS[1]) }
