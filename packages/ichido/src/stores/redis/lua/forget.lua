-- Leaves a tombstone of a record: what it was asked for, as hashes, and that it is done.
-- KEYS[1]  the record
-- ARGV     1 fence and 2 count of audit rows as the caller saw them, 3 identity, version and labels without what is forgotten,
--          4 head of the tombstone, 5 an owner token that no attempt has, 6 ms that a key outlives its record, 7 what names this
--          call and no other, 8 the audit row of this as JSON, 9 what is left to do for it, then the former audit rows without
--          their reasons
-- Result   'ok', also where this very call has done it before; or 'changed': the caller looks again
-- Promise  S24. Nobody's owner and a greater fence: whoever held the record can no longer write to it.
local row = redis.call('HMGET', KEYS[1], 's', 't', 'y', 'n', 'e', 'c', 'f', 'd', 'a', 'g')
if row[10] == ARGV[7] then return 'ok' end
if not row[1] or row[1] == 'p' or row[2] ~= ARGV[1] or (row[3] or '0') ~= ARGV[2] then return 'changed' end
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = string.format('%.0f', clock)
local fence = string.format('%.0f', math.max(tonumber(row[2]) + 1, clock))
local left = math.max(0, math.ceil((tonumber(row[5]) - clock) / 1000)) + tonumber(ARGV[6])
local write = { 's', 'c', 'o', ARGV[5], 't', fence, 'n', row[4], 'l', '0', 'e', row[5], 'c', row[6], 'u', now, 'f', row[7],
  'i', ARGV[3], 'x', '0', 'r', ARGV[4], 'b', '', 'z', '0', 'g', ARGV[7], 'q', ARGV[9] }
for at = 10, #ARGV do
  write[#write + 1] = 'A' .. (at - 9)
  write[#write + 1] = ARGV[at]
end
local count = string.format('%.0f', #ARGV - 8)
for _, value in ipairs({ 'y', count, 'A' .. count, now .. ' ' .. ARGV[8] }) do write[#write + 1] = value end
for at, name in ipairs({ 'd', 'a' }) do
  if row[7 + at] then
    write[#write + 1] = name
    write[#write + 1] = row[7 + at]
  end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(write))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left))
return 'ok'
