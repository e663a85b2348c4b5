-- Dead letters, oldest first.
-- Parameters: after (seq), topic, any_topic (1: whatever the topic), limit.
-- Rows: one for each, up to the limit.
-- Guarantee: a letter that stays is on exactly one page.
select seq, id, topic, message_key, envelope, payload, attempts, crashes, reason, last_error, added_ms, dead_ms
from {prefix}outbox_dead
where seq > :after and (:any_topic = 1 or topic = :topic)
order by seq
limit :limit
