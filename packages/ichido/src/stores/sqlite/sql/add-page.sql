-- Writes a page of the attempt log.
-- Parameters: place, process, how long it is kept, intents, notes.
-- Rows: none; one change.
-- Guarantee: S21.
INSERT INTO {prefix}log_pages (place, process, keep_us, intents, notes) VALUES (?, ?, ?, ?, ?)
