-- Puts audit rows of a record in the place of others; each keeps its time.
-- KEYS[1]  the record
-- ARGV     1 audit rows at most; then pairs: a row as JSON, and what is to stand there
-- Result   how many were replaced
-- Promise  S24.
local replaced = 0
local last = tonumber(redis.call('HGET', KEYS[1], 'y') or 0)
for place = math.max(1, last - tonumber(ARGV[1]) + 1), last do
  local field = 'A' .. string.format('%.0f', place)
  local entry = redis.call('HGET', KEYS[1], field)
  local space = entry and string.find(entry, ' ', 1, true)
  for at = 2, #ARGV, 2 do
    if space and string.sub(entry, space + 1) == ARGV[at] then
      redis.call('HSET', KEYS[1], field, string.sub(entry, 1, space) .. ARGV[at + 1])
      replaced = replaced + 1
      break
    end
  end
end
return replaced
