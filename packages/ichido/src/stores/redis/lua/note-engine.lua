-- Keeps the newest note of one engine, and forgets engines that have not been heard of for long.
-- KEYS[1]  the notes of all engines of this prefix: `n:` and `t:` with the engine's name, the note and its time in us
-- ARGV     1 engine, 2 note, 3 how long notes are kept in us
-- Result   nothing
-- Promise  none that a request rests on
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 2) == 't:' then
    local noted = tonumber(redis.call('HGET', KEYS[1], field))
    if not noted or noted < now - tonumber(ARGV[3]) then
      redis.call('HDEL', KEYS[1], field, 'n:' .. string.sub(field, 3))
    end
  end
end
redis.call('HSET', KEYS[1], 'n:' .. ARGV[1], ARGV[2], 't:' .. ARGV[1], string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], math.floor(tonumber(ARGV[3]) / 1000))
return {}
