-- Claims a record: one script, one key, one answer, by the server's clock.
-- KEYS[1]  the record
-- ARGV     1 owner, 2 raw hash, 3 canonical hash, 4 former hash or '', 5 lease in us, 6 retention in us, 7 takeover,
--          8 identity, fingerprint version and labels as JSON, 9 last tick, 10 tick interval, 11 steady since (us, '' when
--          no tick is known), 12 '1' when that tick was read for this very claim, 13 ms that a key outlives its record,
--          14 '1' when a doubt about it must outlive its retention
-- Result   a list whose first text holds the outcome and its numbers, spaces between (one text is cheaper than many):
--          {'granted origin fence attempt steps created expires resent', canonical hash}: resent is 1 for an owner that holds
--          the record already; the origin is then its first one
--          {'completed fence attempts created expires now', answer head, body}, {'processing lease-left attempts'},
--          {'unknown fence attempts', answer head, body, hold reason}, {'mismatch'}, {'damaged'}: it has no state, or one
--          that no script writes, or hashes or a body of another length than was written; or {'clock'}: past its retention, but the tick given does not prove that the clock ran
--          evenly
-- Promise  S1 to S4, S6, S8 to S11. All values are read before the first write, and nothing after it can fail.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local owner, takeover = ARGV[1], ARGV[7]
local lease, retention, margin = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[13])
local function whole(number) return string.format('%.0f', number) end

-- The body is read along: most records that a claim meets are answers, and a second call costs more than its bytes.
local row = redis.call('HMGET', KEYS[1], 's', 'f', 'o', 't', 'n', 'l', 'e', 'c', 'x', 'h', 'r', 'b', 'a', 'd', 'z')
local state, print, fence = row[1], row[2], row[4]

local function first()
  local former = fence and tonumber(fence) + 1 or 0
  local expires = whole(now + retention)
  local created = whole(now)
  local mine = former > now and whole(former) or created
  if state then redis.call('DEL', KEYS[1]) end
  redis.call('HSET', KEYS[1], 's', 'p', 'f', ARGV[2] .. ARGV[3] .. ARGV[4], 'o', owner, 't', mine, 'n', '1',
    'l', whole(now + lease), 'e', expires, 'c', created, 'u', created, 'x', '0', 'i', ARGV[8])
  if ARGV[14] == '1' then
    redis.call('HSET', KEYS[1], 'd', '1')
  else
    redis.call('PEXPIRE', KEYS[1], whole(math.ceil(math.max(retention, lease) / 1000) + margin))
  end
  return { table.concat({ 'granted new', mine, '1 0', created, expires, '0' }, ' '), ARGV[3] }
end

if not state and not (print or row[3] or fence or row[5] or row[6] or row[7] or row[8]) then return first() end
-- A part of a record is there: whatever is gone, an attempt may have run.
if state ~= 'p' and state ~= 'c' and state ~= 'f' then return { 'damaged' } end
-- Of hashes that were cut, an absent one would be the same as any request's absent one.
if not print or (#print ~= 64 and #print ~= 96) then return { 'damaged' } end
if row[15] and tonumber(row[15]) ~= #(row[12] or '') then return { 'damaged' } end

local leaseEnd, expires, steps = tonumber(row[6]), tonumber(row[7]), tonumber(row[9])
-- A lease that ends further ahead than twice the longest one was written by a clock that has gone back since.
local live = state == 'p' and leaseEnd > now and leaseEnd <= now + {leaseAbsurdUs}
local doubtful = state == 'p' and (row[10] or row[11])
local stays = row[14] == '1'

if expires <= now and (state == 'c' or (steps == 0 and (state == 'f' or not (stays or doubtful or live)))) then
  local last, gap, steady = tonumber(ARGV[9]), {tickGapIntervals} * (tonumber(ARGV[10]) or 0), tonumber(ARGV[11])
  if last and now >= last and now - last <= gap and now - steady >= gap then return first() end
  if ARGV[12] ~= '1' then return { 'clock' } end
end

local former = string.sub(print, 65)
local canonical = string.sub(print, 33, 64)
local same = string.sub(print, 1, 32) == ARGV[2] or canonical == ARGV[3] or canonical == ARGV[4] or former == ARGV[3]
if not same then return { 'mismatch' } end

if state == 'c' then
  local told = table.concat({ 'completed', fence, row[5], row[8], row[7], whole(now) }, ' ')
  return { told, row[11], row[12] }
end

local function grant(origin)
  local attempt, finish = row[5], now + lease
  local write = { 'l', whole(finish), 'u', whole(now) }
  local resent = '1'
  if origin then
    fence = whole(math.max(tonumber(fence) + 1, now))
    attempt = whole(tonumber(attempt) + 1)
    stays = stays or ARGV[14] == '1'
    resent = '0'
    write = { 'l', whole(finish), 'u', whole(now), 's', 'p', 'o', owner, 't', fence, 'n', attempt, 'a', origin }
    if stays then
      write[#write + 1] = 'd'
      write[#write + 1] = '1'
    end
  else
    origin = row[13] or (attempt == '1' and 'new' or 'lapsed')
  end
  redis.call('HSET', KEYS[1], unpack(write))
  -- A record never vanishes under its owner; one with a step or in doubt has no time to live at all.
  if stays then
    redis.call('PERSIST', KEYS[1])
  elseif finish > expires and steps == 0 and not doubtful then
    redis.call('PEXPIRE', KEYS[1], whole(math.ceil(lease / 1000) + margin))
  end
  return { table.concat({ 'granted', origin, fence, attempt, row[9], row[8], row[7], resent }, ' '), canonical }
end

if state == 'f' then return grant('failed') end
-- An owner that left its record in doubt does not get it back by a claim that was under way meanwhile.
if row[3] == owner and (live or not doubtful) then return grant() end
if live then return { 'processing ' .. whole(leaseEnd - now) .. ' ' .. row[5] } end
if doubtful and not row[10] and takeover == 'open' then return grant('suspended') end
if not doubtful and takeover ~= 'none' then return grant('lapsed') end
-- A claim that is refused because of a doubt, and wants it to outlive its retention, relies on that, whatever the
-- policy of the owner was.
if ARGV[14] == '1' and not stays then
  redis.call('HSET', KEYS[1], 'd', '1')
  redis.call('PERSIST', KEYS[1])
end
return { 'unknown ' .. fence .. ' ' .. row[5], row[11], row[12], row[10] }
