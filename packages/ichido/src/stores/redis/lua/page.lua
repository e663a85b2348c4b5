-- One page of the attempt log.
-- KEYS[1]  the journal
-- ARGV     1 its place
-- Result   {} or {'place total end text'}
-- Promise  S22.
return redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1], 'LIMIT', 0, 1)
