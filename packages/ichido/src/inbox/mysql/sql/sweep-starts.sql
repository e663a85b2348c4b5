-- Forgets starts that are older than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a start of a dead letter stays as long as the letter: it may be all that is left of a replay. Bounded.
delete from {prefix}inbox_starts where at_ms < {now} - :age_ms
  and not exists (select 1 from {prefix}inbox_dead d
    where d.handler = {prefix}inbox_starts.handler and d.id = {prefix}inbox_starts.id)
order by at_ms limit :limit
