-- Lets a record expire that a person released, where none of its steps happened.
-- Parameters: :key, :scopeHash, the :fence that the release gave it.
-- Result: nothing to decide by: where it never runs, the record stays, which costs its room alone.
-- Guarantee: S11. Under that fence no attempt owns the record, so no step can start or end meanwhile.
update {records} r set r.step_starts = 0, r.sweep_us = r.expires_us
where r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence and r.state = 'failed' and r.step_starts > 0
  and not exists (
    select 1 from {steps} s
    where s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life and {happened}
  )
