-- What sweeps find their markers by.
-- Parameters  none
-- Rows        none
-- Guarantee   may be run again and changes nothing then
create index if not exists {table}_expires on {table} (expires_us)
