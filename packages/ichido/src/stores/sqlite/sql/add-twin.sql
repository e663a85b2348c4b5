-- Notes a pair, unless it is noted.
-- Parameters: place, scope hash, operation, first key, second key, how far apart.
-- Rows: none; one change, or none.
-- Guarantee: S22.
INSERT INTO {prefix}twins (place, scope_hash, operation, first_key, second_key, apart_us) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
