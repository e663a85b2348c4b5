-- Keeps the newest note of one engine.
-- Parameters: engine, note, now.
-- Rows: none; one change.
-- Guarantee: none that a request rests on.
INSERT INTO {prefix}engines (engine, note, noted_us) VALUES (?, ?, ?)
ON CONFLICT (engine) DO UPDATE SET note = excluded.note, noted_us = excluded.noted_us
