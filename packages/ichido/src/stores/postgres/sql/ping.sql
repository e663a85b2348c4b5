-- Fails or tells when a claim would fail: tables or function missing or outdated, a standby, a read-only session.
-- Rows: one: newest migration, whether a standby, whether read-only, the commit setting.
select
  (select max(version) from {prefix}migrations where part = 'records'),
  pg_is_in_recovery()::integer,
  (current_setting('transaction_read_only') = 'on')::integer,
  current_setting('synchronous_commit')
from (select) as always
left join {prefix}records on false
