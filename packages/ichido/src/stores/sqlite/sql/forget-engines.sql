-- Forgets engines that have not been heard of for long.
-- Parameters: noted before.
-- Rows: none.
-- Guarantee: none that a request rests on.
DELETE FROM {prefix}engines WHERE noted_us < ?
