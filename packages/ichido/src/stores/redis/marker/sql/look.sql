-- Reads a marker with the database's time.
-- Parameters  1 id
-- Rows        at most one
-- Guarantee   none beyond the moment: whoever acts on it names what was seen
select life, owner, fence, attempts, state, fingerprint, sight, head, body, hold, created_us, expires_us, {now} as now_us
from {table} where id = ?
