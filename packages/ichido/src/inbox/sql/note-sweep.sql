-- Notes that somebody sweeps now.
-- Parameters: :now_ms, :steady_ms.
-- Result: nothing to decide by.
-- Guarantee: of two at once either may stand: both have seen the same clock.
update {prefix}inbox_clock set last_ms = :now_ms, steady_ms = :steady_ms where id = 1
