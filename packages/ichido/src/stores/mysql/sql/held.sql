-- Which of many claims still hold their records. Owner and fence never come back to a record they lost, so a claim that
-- holds its record now held it when `renew` ran.
-- Parameters: {rows} as in renew.
-- Rows: one for each claim that holds its record.
-- Guarantee: S5.
select `key`, scope_hash, owner, fence from {records} where ({rows}) and state = 'processing'
