-- A person keeps every attempt away until a person decides again; owner and fence stay, so that an owner thought dead
-- may still bring its answer.
-- Parameters: :id of the proposal; :reason; :key, :scopeHash, :fence; :unlessHeld as 0 or 1.
-- Result: insertId, the fence, when it took effect.
-- Guarantee: S16. Record and audit row change in one atomic statement.
-- Neither begins nor, on MariaDB, waits after {untilUs}: a decision that was told to have failed is never made later.
/*M! set statement max_statement_time = {secondsLeft} for */ update {records} r join {audit} a on a.id = :id
set
  a.at_us = {now}, r.fence = last_insert_id(r.fence),
  r.state = 'processing', r.lease_us = 0, r.hold_reason = :reason, r.updated_us = {now}, r.sweep_us = null
where {now} < {untilUs} and r.`key` = :key and r.scope_hash = :scopeHash and r.fence = :fence
  and r.state <> 'completed' and (:unlessHeld = 0 or r.hold_reason is null) and not (r.state = 'processing' and {live})
