-- Ends the lease without an answer; an interim answer or a hold puts the record in doubt.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 fence, 3 interim head or '', 4 interim body, 5 '1' for a hold, 6 its reason, 7 channel
-- Result   1, or 0 when another owner holds the record
-- Promise  S4, S5, S11. What put the record in doubt before stays; a record in doubt has no time to live.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't', 'w')
if row[1] ~= 'p' or row[2] ~= ARGV[1] or row[3] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local write = { 'l', '0', 'u', now }
if ARGV[3] ~= '' then
  for _, value in ipairs({ 'r', ARGV[3], 'b', ARGV[4], 'z', #ARGV[4] }) do write[#write + 1] = value end
end
if ARGV[5] == '1' then
  write[#write + 1] = 'h'
  write[#write + 1] = ARGV[6]
end
if row[4] then redis.pcall('PUBLISH', ARGV[7], '1') end
redis.call('HSET', KEYS[1], unpack(write))
if #write > 4 then redis.call('PERSIST', KEYS[1]) end
return 1
