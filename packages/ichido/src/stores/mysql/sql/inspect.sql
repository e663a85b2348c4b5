-- What this server is like, for people. Needs no table of ours.
-- Parameters: none.
-- Rows: one.
-- Guarantee: reads no record.
select
  version() as version, @@global.read_only as read_only, @@global.innodb_read_only as innodb_read_only,
  @@session.autocommit as autocommit, @@global.innodb_flush_log_at_trx_commit as flush_log,
  @@global.sync_binlog as sync_binlog, @@global.log_bin as log_bin, {now} as now_us,
  (select count(*) from information_schema.processlist where command like 'Binlog Dump%') as replicas
