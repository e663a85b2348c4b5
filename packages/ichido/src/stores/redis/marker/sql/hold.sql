-- Puts the marker in doubt: an interim answer, a hold, or both. What put it in doubt before stays.
-- Parameters  1 interim head, 2 interim body, 3 reason of the hold, 4 id, 5 fence, 6 owner
-- Rows        affected: 1 when the marker is open and of that fence and owner
-- Guarantee   a marker in doubt never expires and is restored as one in doubt
update {table} set touches = touches + 1, state = 'held', head = coalesce(?, head), body = coalesce(?, body),
  hold = coalesce(?, hold)
where id = ? and fence = ? and owner = ? and state <> 'completed'
