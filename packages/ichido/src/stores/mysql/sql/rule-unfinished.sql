-- The steps of a record that began and have no result.
select 1 from {steps} s where s.`key` = r.`key` and s.scope_hash = r.scope_hash and s.life = r.life
  and s.finished_us is null and {happened}
