-- Notes who makes the owner tokens that begin like this.
-- Parameters: owners, process, release, now.
-- Rows: none; one change.
-- Guarantee: S21.
INSERT INTO {prefix}processes (owners, process, release, seen_us) VALUES (?, ?, ?, ?)
ON CONFLICT (owners) DO UPDATE SET seen_us = excluded.seen_us
