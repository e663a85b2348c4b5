-- Makes room for a step under the present life of the record; no reader sees it before `start-step`. One that did not
-- happen, because a person said so, becomes such a proposal again.
-- Parameters: :name; the claim.
-- Result: nothing to decide by.
-- Guarantee: changes nothing that anyone reads. No assignment depends on another: conditions read only columns that are
--   not assigned.
insert into {steps} (`key`, scope_hash, life, name)
select r.`key`, r.scope_hash, r.life, :name from {records} r
where r.`key` = :key and r.scope_hash = :scopeHash and r.state = 'processing' and r.owner = :owner and r.fence = :fence
on duplicate key update
  place = if(finished_us is null and start_fence < r.released_fence, null, place),
  attempt = if(finished_us is null and start_fence < r.released_fence, null, attempt),
  started_us = if(finished_us is null and start_fence < r.released_fence, null, started_us)
