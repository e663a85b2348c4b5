-- Notes that a doubt must outlive its retention, for a claim that was refused because of it. Nothing else of the record
-- changes.
-- Parameters: :key, :scopeHash; the :fence that was seen.
-- Result: insertId, the fence; 0 when the record changed, its owner is back, or another claim was faster.
-- Guarantee: S11.
update {records} set
  fence = last_insert_id(fence), doubt_stays = 1, sweep_us = null
where `key` = :key and scope_hash = :scopeHash and fence = :fence and state = 'processing' and doubt_stays = 0
  and not {live}
