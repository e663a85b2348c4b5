-- Takes entries in no order: those that their holder left alone for too long, then new ones.
-- KEYS[1]  the stream
-- ARGV     1 group, 2 consumer, 3 ms without a sign of life after which an entry is taken from its holder, 4 entries at most,
--          5 where to go on looking for such entries, '' for not looking
-- Result   {where to go on, {deliveries, entry}, …}
-- Promise  B6: what was not acknowledged comes again.
local stream, group, consumer, most, cursor = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
local result = { cursor }

if cursor ~= '' then
  local claimed = redis.call('XAUTOCLAIM', stream, group, consumer, ARGV[3], cursor, 'COUNT', most)
  result[1] = claimed[1]
  for _, entry in ipairs(claimed[2]) do
    if entry then
      local held = redis.call('XPENDING', stream, group, entry[1], entry[1], 1)
      result[#result + 1] = { held[1][4], entry }
    end
  end
end

local left = most - (#result - 1)
if left > 0 then
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', left, 'STREAMS', stream, '>')
  if read then
    for _, entry in ipairs(read[1][2]) do result[#result + 1] = { 1, entry } end
  end
end
return result
