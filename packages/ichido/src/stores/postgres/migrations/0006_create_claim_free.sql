-- Transaction mode writes a new record once, with its answer, and not at the claim: nobody could see the claim before the
-- commit anyway. Until then a lock of the transaction's own keeps those who ask for the same identity waiting. Whoever has
-- it knows that nothing of an earlier transaction is under way; what makes the record one is its primary key, when it is
-- written. `claim_new` stays for processes that still run an earlier version.
--
-- Returns the fence for a record that nobody has written, or null when there is one: then `claim` judges it. Waits at most
-- `lock_ms` for a transaction that asked before; the caller's own lock timeout is put back, because the transaction is
-- theirs. Whoever waited sees what was committed meanwhile only where each statement sees the newest state; elsewhere the
-- transaction has to begin again.
create function {prefix}claim_free(of_key text, of_scope bytea, lock_ms integer)
returns bigint language plpgsql volatile set enable_seqscan = off as $claim_free$
declare
  lock_id bigint := hashtextextended(of_key || encode(of_scope, 'hex'), '{prefix}records'::regclass::oid::bigint);
  former_timeout text;
begin
  if not pg_try_advisory_xact_lock(lock_id) then
    perform from {prefix}records r where r.key = of_key and r.scope_hash = of_scope;
    if found then
      return null;
    end if;
    former_timeout := current_setting('lock_timeout');
    perform set_config('lock_timeout', lock_ms::text, true);
    perform pg_advisory_xact_lock(lock_id);
    perform set_config('lock_timeout', former_timeout, true);
    if current_setting('transaction_isolation') <> 'read committed' then
      raise exception using errcode = 'serialization_failure', message = 'another transaction asked for this key before';
    end if;
  end if;
  perform from {prefix}records r where r.key = of_key and r.scope_hash = of_scope;
  if found then
    return null;
  end if;
  return (extract(epoch from clock_timestamp()) * 1000000)::bigint;
end
$claim_free$;
