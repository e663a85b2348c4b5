-- Records past their retention that no owner is at work on.
-- Parameters: :trustedUs, the moment at which the ticks were found to be even: the clock may leap after that. :limit.
-- Rows: up to :limit, those longest past their retention first; `with_steps` is 1 where steps must go first.
-- Guarantee: S10, S11, S12. A plain read: it locks nothing, `sweep` judges each record again.
select
  r.`key`, r.scope_hash, r.labels,
  exists (select 1 from {steps} s where s.`key` = r.`key` and s.scope_hash = r.scope_hash) as with_steps
from {records} r
where r.sweep_us <= :trustedUs and (r.state <> 'processing' or not {live})
order by r.sweep_us
limit :limit
