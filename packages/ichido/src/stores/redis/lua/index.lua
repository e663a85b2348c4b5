-- Makes a record findable by a label or a resource.
-- KEYS[1]  the index of that label or resource
-- ARGV     1 the record's place among others, 2 ms to live
-- Result   1
-- Promise  S25. A hit counts only if the record itself bears the label, or made the resource.
redis.call('ZADD', KEYS[1], 0, ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
