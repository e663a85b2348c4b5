-- The two verbs as they run on the caller's own transaction: one record, single values, and nothing but the one write that
-- is needed nearly always. What is rarer is left to `claim`.

-- Claims an identity that nobody holds. Returns its fence, or null when there is a record: then `claim` judges it.
-- Guarantees S1, S6. Waits for whoever inserts the same identity at this moment, at most `lock_ms`; the caller's own lock
-- timeout is put back, because the transaction is theirs.
create function {prefix}claim_new(
  of_key text, of_scope bytea, of_tenant text, of_principal text, of_operation text,
  of_version integer, of_raw bytea, of_canonical bytea, of_former bytea,
  of_owner uuid, lease_ms bigint, retention_ms bigint, label_set text, lock_ms integer
) returns bigint language plpgsql volatile as $claim_new$
declare
  moment timestamptz := clock_timestamp();
  new_fence bigint := (extract(epoch from moment) * 1000000)::bigint;
  former_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', lock_ms::text, true);
  insert into {prefix}records (
    key, scope_hash, tenant, principal, operation,
    fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former,
    state, origin, owner, fence, life, attempts, lease_until, labels, created_at, updated_at, expires_at
  ) values (
    of_key, of_scope, of_tenant, of_principal, of_operation, of_version, of_raw, of_canonical, of_former,
    'processing', 'new', of_owner, new_fence, new_fence, 1, moment + lease_ms * interval '1 ms',
    label_set::jsonb, moment, moment, moment + retention_ms * interval '1 ms'
  ) on conflict do nothing;
  if not found then
    new_fence := null;
  end if;
  perform set_config('lock_timeout', former_timeout, true);
  return new_fence;
end
$claim_new$;

-- Stores one final answer, as `complete` does. Returns whether owner and fence hold the record. Guarantees S5, S7.
-- `is_last`: it is the last statement of the transaction that also claimed the record, in one message with COMMIT. Then it
-- raises IC001 where owner and fence do not hold the record, so that the server never comes to COMMIT; and a record that
-- is completed already is not held, because this statement is never sent twice.
create function {prefix}complete_one(
  of_key text, of_scope bytea, of_owner uuid, of_fence bigint,
  of_kind text, of_status integer, of_headers text, of_body bytea, channel text, is_last boolean
) returns boolean language plpgsql volatile set enable_seqscan = off as $complete_one$
declare
  watched_now boolean;
begin
  update {prefix}records r set
    state = 'completed', lease_until = null, hold_reason = null,
    response_kind = of_kind, response_status = of_status, response_headers = of_headers, response_body = of_body,
    updated_at = clock_timestamp()
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence
    and r.state = 'processing'
  returning r.watched into watched_now;
  if found then
    if watched_now then
      perform pg_notify(channel, encode(sha256(convert_to(of_key, 'UTF8') || of_scope), 'hex'));
    end if;
    return true;
  end if;
  if is_last then
    raise exception using errcode = 'IC001', message = 'another attempt owns this key';
  end if;
  perform from {prefix}records r
  where r.key = of_key and r.scope_hash = of_scope and r.owner = of_owner and r.fence = of_fence and r.state = 'completed';
  return found;
end
$complete_one$;

-- A row that is not committed cannot be locked by anybody else, but whoever inserts the same one has to wait for it. So a
-- record is claimed as new and given up at once, in the same statement: nothing of it is ever seen, and nothing stays.
create function {prefix}landed_within(of_key text, of_scope bytea, lock_ms integer)
returns void language plpgsql volatile as $landed_within$
begin
  if {prefix}claim_new(
    of_key, of_scope, null, null, '', 0, '\x', '\x', null, '00000000-0000-0000-0000-000000000000', 0, 0, null, lock_ms
  ) is not null then
    raise exception using errcode = 'IC002', message = 'nobody has a record, and this one is not kept';
  end if;
exception
  when sqlstate 'IC002' then
    return;
end
$landed_within$;
