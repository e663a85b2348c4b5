-- Writes entries one after the other, each at its own place: microseconds by the server's clock, or one more than the last.
-- KEYS[1]  the journal
-- ARGV     1 us after which entries go, 2 how many are kept at most, 3 ms that the journal outlives its last entry; each ''
--          for no bound; then the entries
-- Result   {the place of the first}
-- Promise  S21 to S23: places grow, whoever writes.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
local place = math.max(now, tonumber(last[2] or 0) + 1)
for at = 4, #ARGV do
  local score = string.format('%.0f', place + at - 4)
  redis.call('ZADD', KEYS[1], score, score .. ' ' .. ARGV[at])
end
if ARGV[1] ~= '' then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[1]))) end
if ARGV[2] ~= '' then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1) end
if ARGV[3] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return { string.format('%.0f', place) }
