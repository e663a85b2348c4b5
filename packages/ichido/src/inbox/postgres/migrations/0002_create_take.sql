-- Takes a message for a handler, as the first write of the caller's transaction. A function, because its plans stay with
-- the session: the same as one statement costs more to plan than to run.
-- Returns 2 for the first; for a row that was there before, 1 for the same content, 0 for other; null where such a row
-- was there and is gone. Waits at most `wait_ms` for a transaction that takes the same message; then error 55P03. The lock
-- timeout is put back at the end: the handler's own statements wait as long as the session says.
create function {prefix}inbox_take(the_handler text, the_id text, the_print bytea, wait_ms text)
returns integer language plpgsql volatile as $take$
declare
  former text := current_setting('lock_timeout');
  found_print bytea;
begin
  perform set_config('lock_timeout', wait_ms, true);
  insert into {prefix}inbox (handler, id, print, dead, processed_ms)
  values (the_handler, the_id, the_print, 0, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (handler, id) do nothing;
  if found then
    perform set_config('lock_timeout', former, true);
    return 2;
  end if;
  perform set_config('lock_timeout', former, true);
  select print into found_print from {prefix}inbox where handler = the_handler and id = the_id;
  return case when found then case when found_print = the_print then 1 else 0 end end;
end
$take$;
