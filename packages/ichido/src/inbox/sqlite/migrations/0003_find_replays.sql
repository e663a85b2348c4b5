-- A consumer finds the letters that are to be replayed without reading the others, and they tell since when they wait.
ALTER TABLE {prefix}inbox_dead ADD COLUMN marked_ms INTEGER;

CREATE INDEX {prefix}inbox_dead_state ON {prefix}inbox_dead (state, handler, place);
