-- Who makes the owner tokens that begin like this.
-- KEYS[1]  the name of those owners
-- Result   process and release as JSON, or ''
-- Promise  S21.
return redis.call('GET', KEYS[1]) or ''
