-- The steps of a record, in the order of their first start.
-- KEYS[1]  the record
-- Result   {now, start, finished or nil, result or nil, last start or nil, start, …}; a start is 'attempt started name',
--          and the last one where it was started again
-- Promise  S15: one consistent reading.
local time = redis.call('TIME')
local found = { string.format('%.0f', time[1] * 1000000 + time[2]) }
for place = 1, tonumber(redis.call('HGET', KEYS[1], 'x') or 0) do
  local step = redis.call('HMGET', KEYS[1], 'S' .. place, 'F' .. place, 'R' .. place, 'L' .. place)
  for part = 1, 4 do found[#found + 1] = step[part] end
end
return found
