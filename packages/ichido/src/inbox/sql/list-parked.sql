-- Messages that are first in their lines and whose time has come.
-- Parameters: :handler, :limit.
-- Rows: one for each.
-- Guarantee: what stands behind another of its key is not among them.
select p.place, p.envelope, p.payload, p.attempts, {now} - p.since_ms as waits_ms from {prefix}inbox_parked p
where p.handler = :handler and p.due_ms <= {now} and not exists (
  select 1 from {prefix}inbox_parked q where q.handler = p.handler and q.line = p.line and q.place < p.place
) order by p.place limit :limit
