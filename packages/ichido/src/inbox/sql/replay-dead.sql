-- Marks dead letters for the next pass of a consumer.
-- Parameters: :handler, :id.
-- Result: the number marked.
-- Guarantee: a second call marks nothing.
update {prefix}inbox_dead set state = 'replaying' where handler = :handler and id = :id and state = 'dead'
