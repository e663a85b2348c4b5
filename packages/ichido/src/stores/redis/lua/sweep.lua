-- Removes a record that is past its retention and not needed any more.
-- KEYS[1]  the record
-- ARGV     1 last tick, 2 tick interval, 3 steady since, in us
-- Result   '1' removed, '0' left alone, '-1' the clock is not trusted
-- Promise  S10, S11, S12: decided anew under the script, whatever the caller believed.
local row = redis.call('HMGET', KEYS[1], 's', 'l', 'e', 'x', 'h', 'r', 'd', 'c')
if not row[1] then return '0' end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last, gap, steady = tonumber(ARGV[1]), {tickGapIntervals} * tonumber(ARGV[2]), tonumber(ARGV[3])
if now < last or now - last > gap or now - steady < gap then return '-1' end
if tonumber(row[3]) > now then return '0' end
if row[1] == 'f' and row[4] ~= '0' then
  -- Released long ago, with the results of steps and no step without one.
  if tonumber(row[3]) + {spentRetentions} * (tonumber(row[3]) - tonumber(row[8])) > now then return '0' end
  for at = 1, tonumber(row[4]) do
    if redis.call('HEXISTS', KEYS[1], 'F' .. at) == 0 then return '0' end
  end
elseif row[1] ~= 'c' then
  local lease = tonumber(row[2])
  local live = row[1] == 'p' and lease > now and lease <= now + {leaseAbsurdUs}
  local doubtful = row[1] == 'p' and (row[5] or row[6] or row[7] == '1')
  if live or doubtful or row[4] ~= '0' then return '0' end
end
redis.call('UNLINK', KEYS[1])
return '1'
