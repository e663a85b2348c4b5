-- Notes how far the sweeper has looked.
-- Parameters: :writtenUs, :place.
-- Result: nothing to decide by.
-- Guarantee: S21.
insert into {log_sweep} (id, written_us, place) values (1, :writtenUs, :place)
on duplicate key update written_us = :writtenUs, place = :place
