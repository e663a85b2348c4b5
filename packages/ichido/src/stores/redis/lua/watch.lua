-- What a waiter looks at; marks the record, so that its end is published on its channel.
-- KEYS[1]  the record
-- Result   'state fence updated live', the same text as long as there is nothing new to a waiter; '' without a record
-- Promise  S18: marked before it is looked at, in one step, so that no end falls between.
local row = redis.call('HMGET', KEYS[1], 's', 't', 'l', 'w')
if not row[1] then return '' end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease = tonumber(row[3])
local live = row[1] == 'p' and lease > now and lease <= now + {leaseAbsurdUs}
if live and not row[4] then redis.call('HSET', KEYS[1], 'w', '1') end
return row[1] .. ' ' .. row[2] .. ' ' .. (live and 'live' or 'left')
