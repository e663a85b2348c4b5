-- Takes the next entries of a partition, so that at most one consumer at a time holds entries of it.
-- KEYS[1]  the partition's stream
-- ARGV     1 group, 2 consumer, 3 ms without a sign of life after which entries are taken from their holder, 4 entries at most
-- Result   {} when there is nothing, or another consumer holds the partition; else {deliveries of the first entry, entries}
-- Promise  B5: nothing new is read while anything is pending. The deliveries of all but the first entry are left as they
--          are: they count when they are handed out. The caller holds nothing, so what is pending for it was lost on the
--          way and is its own to take again.
local stream, group, consumer, wait = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local pending = redis.call('XPENDING', stream, group, '-', '+', 1000)

if #pending == 0 then
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', ARGV[4], 'STREAMS', stream, '>')
  if not read then return {} end
  local entries = read[1][2]
  if #entries > 1 then
    local claim = { 'XCLAIM', stream, group, consumer, 0 }
    for index = 2, #entries do claim[#claim + 1] = entries[index][1] end
    for _, option in ipairs({ 'IDLE', 0, 'RETRYCOUNT', 0, 'JUSTID' }) do claim[#claim + 1] = option end
    redis.call(unpack(claim))
  end
  return { 1, entries }
end

for _, held in ipairs(pending) do
  if held[2] ~= consumer and held[3] < wait then return {} end
end

local entries, deliveries = {}, 0
for _, held in ipairs(pending) do
  local count = #entries == 0 and held[4] + 1 or held[4]
  local claimed = redis.call('XCLAIM', stream, group, consumer, 0, held[1], 'IDLE', 0, 'RETRYCOUNT', count)
  if claimed[1] then
    if #entries == 0 then deliveries = count end
    entries[#entries + 1] = claimed[1]
  else
    -- The entry itself was deleted: nothing is left to hand out.
    redis.call('XACK', stream, group, held[1])
  end
end
if #entries == 0 then return {} end
return { deliveries, entries }
