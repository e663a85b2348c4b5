-- What this server is like, for people. Needs no table of ours, and sees the same whoever asks.
-- Parameters: none.
-- Rows: one: version, its number, whether a standby, whether read-only, the settings synchronous_commit, fsync and
-- synchronous_standby_names, how many standbys are attached, now in ms.
-- Guarantee: reads no record.
select
  current_setting('server_version'),
  current_setting('server_version_num')::integer,
  pg_is_in_recovery()::integer,
  (current_setting('transaction_read_only') = 'on')::integer,
  current_setting('synchronous_commit'),
  current_setting('fsync'),
  current_setting('synchronous_standby_names'),
  (select count(*) from pg_stat_replication where application_name not like 'pg_basebackup%'),
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint
