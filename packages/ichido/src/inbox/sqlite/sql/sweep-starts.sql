-- Forgets starts that are older than the retention.
-- Parameters: :age_ms, :limit.
-- Result: how many are gone.
-- Guarantee: a start of a dead letter stays as long as the letter: it may be all that is left of a replay. Bounded.
DELETE FROM {prefix}inbox_starts WHERE (handler, id, token) IN (
  SELECT s.handler, s.id, s.token FROM {prefix}inbox_starts s WHERE s.at_ms < {now} - :age_ms
    AND NOT EXISTS (SELECT 1 FROM {prefix}inbox_dead d WHERE d.handler = s.handler AND d.id = s.id)
  ORDER BY s.at_ms LIMIT :limit
)
