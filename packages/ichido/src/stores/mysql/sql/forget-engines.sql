-- Forgets engines that have not been heard of for long.
-- Parameters: :keptUs.
-- Result: nothing to decide by.
-- Guarantee: none that a request rests on.
delete from {engines} where noted_us < {now} - :keptUs limit 1000
