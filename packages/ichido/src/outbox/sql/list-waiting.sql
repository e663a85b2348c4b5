-- Events that wait, in their order.
-- Parameters: after, limit.
-- Rows: one for each.
-- Guarantee: a row that stays is on exactly one page.
select seq, message_key, envelope, payload from {prefix}outbox where seq > :after order by seq limit :limit
