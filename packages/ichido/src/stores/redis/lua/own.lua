-- All notes of one kind about one record.
-- KEYS[1]  the notes
-- Result   {place, text, …}, oldest first
-- Promise  S21, S22: one consistent reading.
local found = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local told = {}
for at = 1, #found, 2 do
  told[#told + 1] = string.format('%.0f', tonumber(found[at + 1]))
  told[#told + 1] = found[at]
end
return told
