-- Keeps the newest note of one engine.
-- Parameters: :engine, :note.
-- Result: nothing to decide by.
-- Guarantee: none that a request rests on.
insert into {engines} (engine, note, noted_us) values (:engine, :note, {now})
on duplicate key update note = :note, noted_us = {now}
