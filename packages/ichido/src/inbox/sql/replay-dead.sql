-- Marks dead letters for the next pass of a consumer.
-- Parameters: :handler, :id.
-- Result: the number marked.
-- Guarantee: a second call marks nothing.
update {prefix}inbox_dead set state = 'replaying', marked_ms = {now} where handler = :handler and id = :id and state = 'dead'
