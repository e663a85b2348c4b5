-- Writes a page of the attempt log.
-- Parameters: :process, :keepUs, :intents, :notes.
-- Result: insertId, its id.
-- Guarantee: S21.
insert into {log_pages} (written_us, keep_us, process, intents, notes)
values ({now}, {now} + :keepUs, :process, :intents, :notes)
