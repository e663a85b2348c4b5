-- Remembers a message from now on for the retention, because what kept its row until now, a letter or a parked message, goes.
-- Parameters: :handler, :id, :print.
-- Result: nothing to decide by.
-- Guarantee: a consumer that read that letter before it went, and runs it after, still finds what became of it.
update {prefix}inbox set processed_ms = {now} where handler = :handler and id = :id and print = :print
