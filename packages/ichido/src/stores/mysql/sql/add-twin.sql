-- Notes a pair, unless it is noted.
-- Parameters: :scopeHash, :operation, :firstKey, :secondKey, :apartUs.
-- Result: one affected row where it is new.
-- Guarantee: S22.
insert ignore into {twins} (written_us, scope_hash, operation, first_key, second_key, apart_us)
values ({now}, :scopeHash, :operation, :firstKey, :secondKey, :apartUs)
