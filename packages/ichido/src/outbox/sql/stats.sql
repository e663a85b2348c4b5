-- How much waits, and since when.
-- Parameters: none.
-- Rows: one; the age is null where nothing waits.
-- Guarantee: none.
select
  (select count(*) from {prefix}outbox) as pending,
  (select {now} - min(added_ms) from {prefix}outbox where due_ms is null or due_ms <= {now}) as oldest_ms,
  (select count(*) from {prefix}outbox_dead) as dead,
  (select count(*) from {prefix}outbox_parked where until_ms is null or until_ms > {now}) as parked,
  (select count(*) from {prefix}outbox_relays where until_ms >= {now}) as relays
