-- Waits for the end of a transaction that asked `claim_free` for this identity, whose record may be unwritten until then.
-- Parameters: key, scope hash, lock timeout in ms.
-- Rows: one. Raises 55P03 when it did not end in time.
-- Guarantee S19, together with `landed` in a statement of its own: that one then sees what the transaction left, whatever
-- the isolation level.
with patience as materialized (select set_config('lock_timeout', $3::text, true))
select pg_advisory_xact_lock(
  hashtextextended($1::text || encode($2::bytea, 'hex'), '{prefix}records'::regclass::oid::bigint)
) from patience
