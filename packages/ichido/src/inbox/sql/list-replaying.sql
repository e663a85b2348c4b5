-- Letters of a handler that are to be replayed, oldest first.
-- Parameters: :handler, :limit.
-- Rows: one for each.
-- Guarantee: reads no other letter.
select place, handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state from {prefix}inbox_dead
where state = 'replaying' and handler = :handler order by place limit :limit
