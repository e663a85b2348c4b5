-- Gives Redis back a record that it forgot, as the marker in the business database knows it.
-- KEYS[1]  the record
-- ARGV     1 owner and 2 fence that hold the record now, 3 life, 4 state, 5 owner, 6 fence, 7 attempts, 8 fingerprint,
--          9 sight, 10 answer head or '', 11 body, 12 '1' for a hold, 13 its reason, 14 '1' when a step was started,
--          15 age in us, 16 retention left in us, 17 lease in us, 18 ms that a key outlives its record
-- Result   1, or 0 when the record is somebody else's meanwhile
-- Promise  an owner that still works gets a whole lease to renew; the names of its steps are lost, that there were some is
--          not: a step called `?` stands for them.
local row = redis.call('HMGET', KEYS[1], 's', 'o', 't')
if row[1] and (row[2] ~= ARGV[1] or row[3] ~= ARGV[2]) then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function whole(number) return string.format('%.0f', number) end
local expires = now + tonumber(ARGV[16])
local lease, margin = tonumber(ARGV[17]), tonumber(ARGV[18])
local doubtful = ARGV[4] == 'p' and (ARGV[10] ~= '' or ARGV[12] == '1')
local write = { 's', ARGV[4], 'g', ARGV[3], 'o', ARGV[5], 't', ARGV[6], 'n', ARGV[7], 'f', ARGV[8], 'i', ARGV[9],
  'l', doubtful and '0' or whole(now + lease), 'c', whole(now - tonumber(ARGV[15])), 'u', whole(now),
  'e', whole(expires), 'x', ARGV[14] == '1' and '1' or '0' }
local function add(...) for _, value in ipairs({ ... }) do write[#write + 1] = value end end
if ARGV[10] ~= '' then add('r', ARGV[10], 'b', ARGV[11], 'z', #ARGV[11]) end
if ARGV[12] == '1' then add('h', ARGV[13]) end
if ARGV[14] == '1' then add('N?', '1', 'S1', ARGV[7] .. ' ' .. whole(now) .. ' ?') end
if row[1] then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], unpack(write))
if ARGV[4] == 'c' or (ARGV[14] ~= '1' and not doubtful) then
  redis.call('PEXPIRE', KEYS[1], whole(math.ceil(math.max(expires - now, lease, 0) / 1000) + margin))
end
return 1
