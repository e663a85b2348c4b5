-- Notes about one record, each at the place that it has in the journal of all.
-- KEYS[1]  the notes of one kind of one record
-- ARGV     1 how many are kept at most, 2 ms to live or '', then places and texts in turn
-- Result   the places of those that went for it
-- Promise  S21, S22: bounded for each record.
for at = 3, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'NX', ARGV[at], ARGV[at + 1]) end
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[1])
local gone = {}
if over > 0 then
  local dropped = redis.call('ZRANGE', KEYS[1], 0, over - 1, 'WITHSCORES')
  for at = 2, #dropped, 2 do gone[#gone + 1] = string.format('%.0f', tonumber(dropped[at])) end
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
end
if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return gone
