-- Writes a page of the attempt log at its own place, as `append` does. The oldest pages go past a number of notes, or past
-- their own time: that of another page says nothing of them.
-- KEYS[1]  the journal: `place total end text`, where total counts the notes of all pages so far
-- ARGV     1 us after which this page may go, 2 how many notes are kept at most, 3 ms that the journal outlives it, 4 notes of
--          this page, 5 its text
-- Result   {its place}; as many places before it are its notes'
-- Promise  S21: places grow, whoever writes.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
local place = string.format('%.0f', math.max(now, tonumber(last[2] or 0) + 1) + tonumber(ARGV[4]))
local before = last[1] and tonumber(string.match(last[1], '^%d+ (%d+) ')) or 0
local total = before + tonumber(ARGV[4])
local counts = string.format('%.0f %.0f', total, now + tonumber(ARGV[1]))
redis.call('ZADD', KEYS[1], place, place .. ' ' .. counts .. ' ' .. ARGV[5])
for _ = 1, 64 do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if not oldest then break end
  local its, until_us = string.match(oldest, '^%d+ (%d+) (%d+) ')
  if tonumber(its) > total - tonumber(ARGV[2]) and tonumber(until_us) > now then break end
  redis.call('ZREM', KEYS[1], oldest)
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return { place }
