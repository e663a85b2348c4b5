-- Removes consumers that hold nothing: the one that leaves, and those that have not been seen for long.
-- KEYS[1]  the stream
-- ARGV     1 group, 2 consumer, 3 ms
-- Result   how many were removed
-- Promise  B6: a consumer that holds anything stays, so that its entries come again.
local removed = 0
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local fields = {}
  for index = 1, #info, 2 do fields[info[index]] = info[index + 1] end
  if fields['pending'] == 0 and (fields['name'] == ARGV[2] or fields['idle'] > tonumber(ARGV[3])) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], fields['name'])
    removed = removed + 1
  end
end
return removed
