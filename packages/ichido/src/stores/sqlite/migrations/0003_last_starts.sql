-- A step knows its last start beside its first: a call that was lost may be under way since then. Null where a step was
-- started before this column was there: its first start was its last.
ALTER TABLE ichido_steps ADD COLUMN last_started_us INTEGER;
