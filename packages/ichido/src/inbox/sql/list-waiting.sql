-- Messages that wait for their next attempt, oldest first, whatever their time.
-- Parameters: :after, :limit.
-- Rows: one for each.
-- Guarantee: a row that stays is on exactly one page.
select place, handler, id, envelope, payload, error, attempts, since_ms from {prefix}inbox_parked
where place > :after order by place limit :limit
