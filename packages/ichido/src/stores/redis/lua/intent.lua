-- Notes the first run of a key, and tells whether another key ran the same content a little earlier or later.
-- KEYS[1]  what scope and content have in common
-- ARGV     1 the key, 2 us since it ran, 3 us that two may be apart, 4 ms to live
-- Result   {} or {when the other ran, its key, when this one ran}
-- Promise  S22.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local at = now - tonumber(ARGV[2])
local known = redis.call('GET', KEYS[1])
local space = known and string.find(known, ' ', 1, true)
local known_at = space and tonumber(string.sub(known, 1, space - 1))
local known_key = space and string.sub(known, space + 1)
if not known_at or at >= known_at then
  redis.call('SET', KEYS[1], string.format('%.0f', at) .. ' ' .. ARGV[1], 'PX', ARGV[4])
end
if not known_at or known_key == ARGV[1] or math.abs(at - known_at) > tonumber(ARGV[3]) then return {} end
return { string.format('%.0f', known_at), known_key, string.format('%.0f', at) }
