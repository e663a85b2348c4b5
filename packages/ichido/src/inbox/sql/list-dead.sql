-- Dead letters, oldest first.
-- Parameters: :after, :any_handler (1 or 0), :handler, :any_id, :id, :any_topic, :topic, :limit.
-- Rows: one for each.
-- Guarantee: a row that stays is on exactly one page.
select place, handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state from {prefix}inbox_dead
where place > :after and (:any_handler = 1 or handler = :handler) and (:any_id = 1 or id = :id)
  and (:any_topic = 1 or topic = :topic)
order by place limit :limit
