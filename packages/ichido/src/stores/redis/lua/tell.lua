-- Notes what an operation made, for the owner of the record alone, before the verb that tells it.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 how many are kept at most, then each as JSON
-- Result   ms that are left of its retention, or '' when another owner holds the record
-- Promise  S20: each once, in the order told.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'm', 'e')
if not row[1] or row[1] == 'f' or row[2] ~= ARGV[1] or row[3] ~= ARGV[2] then return '' end
local count = tonumber(row[4] or 0)
for at = 4, #ARGV do
  if count < tonumber(ARGV[3]) and redis.call('HEXISTS', KEYS[1], 'M' .. ARGV[at]) == 0 then
    count = count + 1
    redis.call('HSET', KEYS[1], 'M' .. ARGV[at], count, 'm' .. count, ARGV[at], 'm', count)
  end
end
local time = redis.call('TIME')
return string.format('%.0f', math.max(0, math.ceil((tonumber(row[5]) - time[1] * 1000000 - time[2]) / 1000)))
