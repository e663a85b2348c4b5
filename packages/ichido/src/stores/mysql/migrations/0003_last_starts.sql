-- A step knows its last start beside its first, and the fence under which it was last started. Null and 0 where a step was
-- started before these columns were there: its first start was its last.
alter table {prefix}steps
  add column last_started_us bigint,
  add column start_fence bigint not null default 0;

-- The fence that a person's release gave the record. A step that was last started under an earlier one and has no result did
-- not happen: it is as if it were only proposed. A mark on the record, because one statement cannot change a record and all of
-- its steps, each of them once.
alter table {prefix}records add column released_fence bigint not null default 0;
