-- Intents of the pages that other processes wrote.
-- Parameters: place to start with, process, limit.
-- Rows: up to `limit`, in the order of writing.
-- Guarantee: S22.
SELECT place, intents FROM {prefix}log_pages WHERE place >= ? AND process <> ? AND length(intents) > 0 ORDER BY place LIMIT ?
