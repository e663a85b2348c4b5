-- Creates the table of markers.
-- Parameters  none
-- Rows        none
-- Guarantee   may be run again and changes nothing then
create table if not exists {table} (
  id {name} not null primary key,
  life bigint not null,
  owner char(32) not null,
  fence bigint not null,
  attempts integer not null,
  state varchar(10) not null,
  fingerprint varchar(130) not null,
  sight {text} not null,
  head {text},
  body {bytes},
  hold {text},
  touches integer not null,
  created_us bigint not null,
  expires_us bigint not null,{index}
  constraint {table}_state check (state in ('started', 'stepped', 'held', 'completed'))
){engine}
