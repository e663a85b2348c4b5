-- The store's clock. No table is read, so no lock is taken.
-- Parameters: none.
-- Rows: one; now_ms, whole milliseconds since the epoch.
-- Guarantee: the clock of the host, which all processes of a SQLite file share.
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms
