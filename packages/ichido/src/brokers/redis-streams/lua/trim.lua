-- Removes entries that every group has acknowledged, from the oldest on.
-- KEYS[1]  the stream
-- ARGV     1 entries at most
-- Result   how many were removed
-- Promise  an entry that any group has not read or not acknowledged stays; a stream without groups is left alone. Whole
--          nodes of the stream go at once, so that the last hundred or so may stay, too.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end

-- Ids compare as two numbers of up to 64 bits, more than a number of Lua holds: as texts of one length.
local function padded(id)
  local time, sequence = string.match(id, '^(%d+)-(%d+)$')
  return string.rep('0', 20 - #time) .. time .. string.rep('0', 20 - #sequence) .. sequence
end

local bound
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local fields = {}
  for index = 1, #info, 2 do fields[info[index]] = info[index + 1] end
  local oldest = fields['last-delivered-id']
  if fields['pending'] > 0 then oldest = redis.call('XPENDING', KEYS[1], fields['name'])[2] end
  if not bound or padded(oldest) < padded(bound) then bound = oldest end
end
if not bound then return 0 end
return redis.call('XTRIM', KEYS[1], 'MINID', '~', bound, 'LIMIT', ARGV[1])
