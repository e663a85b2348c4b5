-- The audit rows of a record, oldest first.
-- KEYS[1]  the record
-- ARGV     1 audit rows at most
-- Result   {'at row as JSON', …}
-- Promise  S16: one consistent reading.
local found = {}
local last = tonumber(redis.call('HGET', KEYS[1], 'y') or 0)
for place = math.max(1, last - tonumber(ARGV[1]) + 1), last do
  local entry = redis.call('HGET', KEYS[1], 'A' .. string.format('%.0f', place))
  if entry then found[#found + 1] = entry end
end
return found
