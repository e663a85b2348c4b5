-- Fails, or returns why, when a claim would fail: tables or function missing or outdated, a standby, a read-only
-- session, no right to write.
-- Parameters: none.
-- Rows: one: newest migration, whether a standby, whether read-only, the commit setting, the tables that may not be written,
-- and 0.
-- Guarantee: S18. Reads no record.
select
  (select max(version) from {prefix}migrations where part = 'records'),
  pg_is_in_recovery()::integer,
  (current_setting('transaction_read_only') = 'on')::integer,
  current_setting('synchronous_commit'),
  (
    select string_agg(name, ', ')
    from unnest(array[
      '{prefix}records', '{prefix}steps', '{prefix}audit', '{prefix}clock', '{prefix}attempts', '{prefix}twins',
      '{prefix}resources', '{prefix}log_sweep', '{prefix}engines', '{prefix}log_pages', '{prefix}processes',
      '{prefix}open_records', '{prefix}open_until'
    ]) as name
    where
      not has_table_privilege(name, 'select')
      or not has_table_privilege(name, 'insert')
      or not has_table_privilege(name, 'update')
      or not has_table_privilege(name, 'delete')
  ),
  -- Claims no identity: the function only looks at its tables and rights.
  (select count(*) from {prefix}claim('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 1))
from (select) as always
left join {prefix}records on false
