-- Reasons of audit entries, beside the journal that names who did what: they alone can be emptied.
-- KEYS[1]  the reasons of all entries
-- ARGV     1 'set', 'get' or 'empty'; then places, for 'set' each with its reason
-- Result   the reasons, for 'get'
-- Promise  S23, S24.
local found = {}
if ARGV[1] == 'set' then
  for at = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
  return found
end
for at = 2, #ARGV do
  if ARGV[1] == 'empty' then
    redis.call('HDEL', KEYS[1], ARGV[at])
  else
    found[#found + 1] = redis.call('HGET', KEYS[1], ARGV[at]) or ''
  end
end
return found
