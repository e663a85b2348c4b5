-- Which of many claims still hold their records. Owner and fence never come back to a record they lost, so whoever holds
-- it now held it when `renew` ran.
-- Parameters: {rows} as in renew.
-- Rows: the place of each claim that holds its record.
-- Guarantee: S5.
select d.p as place
from ({rows}) d straight_join {records} r on r.`key` = d.k and r.scope_hash = d.s
where r.owner = d.o and r.fence = d.f and r.state = 'processing' and r.lease_us > 0
