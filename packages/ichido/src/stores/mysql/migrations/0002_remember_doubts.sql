-- What a record remembers of a doubt. Rows that were there before, or that an earlier release writes while a deploy rolls,
-- count as in doubt: their owners' outcome is found out before anything runs again.
-- Columns are added by one statement a table: where a column is there already, all are, and the statement is done.

-- `origin` is how the present owner came by the record: a claim that is sent again after a lost reply is told the same.
-- While `doubt_stays` a record in `processing` does not expire: its `sweep_us` is null.
alter table {prefix}records
  add column origin varchar(9) character set ascii collate ascii_bin not null default 'lapsed',
  add column doubt_stays tinyint not null default 1;

update {prefix}records set sweep_us = null where state = 'processing';
