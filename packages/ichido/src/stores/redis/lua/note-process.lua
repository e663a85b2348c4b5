-- Notes who makes the owner tokens that begin like this.
-- KEYS[1]  the name of those owners
-- ARGV     1 process and release as JSON, 2 ms to live
-- Result   1
-- Promise  S21.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
