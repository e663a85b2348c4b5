-- Counts a step that `start-step` added: from now on the record never expires by itself.
-- Parameters: updated, key, scope hash.
-- Rows: none; one change.
-- Guarantee: S11.
UPDATE ichido_records SET steps_started = steps_started + 1, updated_us = ? WHERE key = ? AND scope_hash = ?
