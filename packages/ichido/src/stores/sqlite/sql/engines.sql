-- What engines told of themselves, the newest first.
-- Parameters: noted at or after.
-- Rows: engine, note, noted_us; at most 100.
-- Guarantee: none that a request rests on.
SELECT engine, note, noted_us FROM {prefix}engines WHERE noted_us >= ? ORDER BY noted_us DESC LIMIT 100
