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
