-- Makes a record findable by a label.
-- Parameters: name, value, key, scope hash.
-- Rows: none; one change.
-- Guarantee: in the same transaction as the claim that brought the label.
INSERT INTO {prefix}labels (name, value, key, scope_hash) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
