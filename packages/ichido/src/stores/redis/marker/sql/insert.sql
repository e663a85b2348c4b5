-- Marks an identity as taken, where there is no marker yet.
-- Parameters  1 id, 2 life, 3 owner, 4 fence, 5 attempts, 6 fingerprint, 7 sight, 8 retention in us
-- Rows        affected: 1 when it is ours, 0 when there is a marker already
-- Guarantee   one winner among concurrent inserts
{insert} into {table} (id, life, owner, fence, attempts, state, fingerprint, sight, touches, created_us, expires_us)
values (?, ?, ?, ?, ?, 'started', ?, ?, 0, {now}, {now} + ?) {ignore}
