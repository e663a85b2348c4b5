-- Removes entries of a journal.
-- KEYS[1]  the journal
-- ARGV     their places
-- Result   1
-- Promise  S24.
for _, place in ipairs(ARGV) do redis.call('ZREMRANGEBYSCORE', KEYS[1], place, place) end
return 1
