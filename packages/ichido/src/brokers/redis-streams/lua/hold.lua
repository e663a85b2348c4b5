-- Gives a sign of life for entries, or hands them on: only those which the consumer still holds.
-- KEYS[1]  the stream
-- ARGV     1 group, 2 consumer, 3 who holds them from now on, 4 ms that count as having passed without a sign of life, 5… entries
-- Result   how many were still held
-- Promise  B5: what another consumer has taken meanwhile stays with it. It counts no hand-out.
local count = 0
for index = 5, #ARGV do
  local held = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[index], ARGV[index], 1)[1]
  if held and held[2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[index], 'IDLE', ARGV[4], 'JUSTID')
    count = count + 1
  end
end
return count
