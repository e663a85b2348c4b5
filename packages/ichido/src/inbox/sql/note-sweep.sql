-- Notes that a sweep runs now.
-- Parameters: :now_ms, :steady_ms.
-- Result: nothing to decide by.
-- Guarantee: of two sweeps at once, the note of either may stay: both have seen the same clock.
update {prefix}inbox_clock set last_ms = :now_ms, steady_ms = :steady_ms where id = 1
