-- Everything that people did. In the order of their times: a proposal gets its time when it takes effect.
-- Parameters: :fromUs and :after, the time and the id to start after; :limit.
-- Rows: up to :limit, oldest first.
-- Guarantee: S23.
select a.id, a.`key`, a.scope_hash, a.at_us, a.actor, a.action, a.reason, a.fence
from {audit} a
where a.at_us is not null and (a.at_us > :fromUs or (a.at_us = :fromUs and a.id > :after))
order by a.at_us, a.id
limit :limit
