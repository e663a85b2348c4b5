-- How many steps of a record, `r`, are known. Most records have none, and are not looked for in another table.
CASE WHEN r.steps_started = 0 THEN 0 ELSE (
  SELECT count(*) FROM {prefix}steps AS s WHERE s.key = r.key AND s.scope_hash = r.scope_hash
) END
