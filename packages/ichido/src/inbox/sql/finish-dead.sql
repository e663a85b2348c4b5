-- Removes a dead letter that was replayed and is processed now.
-- Parameters: :handler, :id, :print.
-- Result: one row or none.
-- Guarantee: a letter that another consumer buried again meanwhile stays.
delete from {prefix}inbox_dead where handler = :handler and id = :id and print = :print and state = 'replaying'
  and not exists (select 1 from {prefix}inbox i where i.handler = :handler and i.id = :id and i.print = :print and i.dead = 1)
