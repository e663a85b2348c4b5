-- What an operation made, in the order told.
-- KEYS[1]  the record
-- Result   each as JSON
-- Promise  S20: one consistent reading.
local found = {}
for at = 1, tonumber(redis.call('HGET', KEYS[1], 'm') or 0) do
  found[#found + 1] = redis.call('HGET', KEYS[1], 'm' .. at)
end
return found
