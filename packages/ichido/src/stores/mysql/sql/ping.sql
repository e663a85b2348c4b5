-- Fails where a claim would fail: no such tables or columns of the newest migration, no right to read them. Reads what
-- would make claims unsafe, and what the server is.
-- Parameters: none.
-- Rows: one.
-- Guarantee: S18. Reads no record.
select
  @@global.read_only as read_only, @@global.innodb_read_only as innodb_read_only, @@session.autocommit as autocommit,
  @@global.max_allowed_packet as packet_bytes_max, version() as version,
  (select max(r.released_fence) from {records} r where false) as records,
  (select max(l.label_hash) from {labels} l where false) as labels,
  (select max(s.start_fence) from {steps} s where false) as steps,
  (select max(a.at_us) from {audit} a where false) as audit,
  (select max(t.spread_us) from {attempts} t where false) as attempts,
  (select max(p.keep_us) from {log_pages} p where false) as log_pages,
  (select max(p.seen_us) from {processes} p where false) as processes,
  (select max(t.apart_us) from {twins} t where false) as twins,
  (select max(m.ordinal) from {resources} m where false) as resources,
  (select max(l.place) from {log_sweep} l where false) as log_sweep,
  (select max(c.last_us) from {clock} c where false) as clock
