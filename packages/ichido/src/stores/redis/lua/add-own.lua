-- Notes about one record, each at the place that it has in the journal of all; none about a record that is forgotten.
-- KEYS[1]  the notes of one kind of one record: its name, and the kind
-- ARGV     1 how many are kept at most, 2 ms to live or '', 3 what the answer of a forgotten record says, or '', then places
--          and texts in turn
-- Result   1, or 0 where the record is forgotten
-- Promise  S21, S22: bounded for each record. S24: the record lies in the same slot and is read in the same step.
if ARGV[3] ~= '' then
  local record = string.match(KEYS[1], '^(.*):%l+$')
  local head = record and redis.call('HGET', record, 'r')
  if head and string.find(head, ARGV[3], 1, true) then return 0 end
end
for at = 4, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'NX', ARGV[at], ARGV[at + 1]) end
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[1])
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1) end
if ARGV[2] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
