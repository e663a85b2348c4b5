-- A page of a journal, in the order of writing.
-- KEYS[1]  the journal
-- ARGV     1 place to start after, or ''; 2 us that the first entry may be old, or ''; 3 how many
-- Result   {the place of the last entry of all, or '0'; 'place entry', …}
-- Promise  S21 to S23.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local from = '-inf'
if ARGV[1] ~= '' then
  from = '(' .. ARGV[1]
elseif ARGV[2] ~= '' then
  from = string.format('%.0f', now - tonumber(ARGV[2]))
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
local found = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'LIMIT', 0, ARGV[3])
table.insert(found, 1, string.format('%.0f', tonumber(last[2] or 0)))
return found
