-- Notes that the clock was seen.
-- Parameters: last, interval, steady since.
-- Rows: none; one change.
-- Guarantee: S10. Runs under the write lock, after `clock` in the same transaction.
INSERT INTO {prefix}clock (id, last_us, interval_us, steady_since_us) VALUES (1, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  last_us = excluded.last_us, interval_us = excluded.interval_us, steady_since_us = excluded.steady_since_us
